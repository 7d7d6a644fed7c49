#include "linac/train/train/record/trace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "linac/base/base/host.h"
#include "linac/base/base/version.h"

namespace linac::train {
namespace {

using Json = nlohmann::json;

constexpr int kTag = 19;
constexpr int kAsked = 16;                           // times, of each worker
constexpr size_t kAllBytesMax = size_t{1} << 24;     // of the parts of all workers
constexpr size_t kPartBytesLeast = size_t{1} << 14;  // of many workers each

struct PlacedEvent {
  size_t track;
  trace::Event event;
};

// What is within another span comes behind it.
std::vector<PlacedEvent> in_order(const trace::Recorded& recorded) {
  std::vector<PlacedEvent> all;
  for (size_t track = 0; track < recorded.tracks.size(); ++track)
    for (const trace::Event& event : recorded.tracks[track].events) all.push_back({track, event});
  std::ranges::stable_sort(all, {},
                           [](const PlacedEvent& one) { return std::tuple(one.event.begin_ns, -one.event.end_ns); });
  return all;
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json part_of(const trace::Recorded& recorded, std::span<const PlacedEvent> events, int64_t left_out) {
  Json tracks = Json::array(), names = Json::array(), lists = Json::array();
  for (const trace::Track& track : recorded.tracks) {
    tracks.push_back(track.name);
    lists.push_back(Json::array());
  }
  std::map<std::string_view, size_t> numbers;
  const int64_t origin = events.empty() ? 0 : events.front().event.begin_ns;
  for (const auto& [track, event] : events) {
    const auto [found, is_new] = numbers.try_emplace(event.name, numbers.size());
    if (is_new) names.push_back(event.name);
    lists[track].push_back({found->second, event.begin_ns - origin, event.end_ns - event.begin_ns});
  }
  return {{"tracks", tracks}, {"names", names}, {"events", lists}, {"origin", origin}, {"left_out", left_out}};
}

// Microseconds of whole nanoseconds: what lies within another span does so in the file.
std::string microseconds(int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::string named(const char* what, size_t pid, size_t tid, const Json& arguments) {
  return dumped({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", arguments}});
}

// Of one worker. `origin_ns`: of the trace, in its own clock.
void add_events(const Json& part, size_t pid, int64_t origin_ns, std::vector<std::string>& lines) {
  std::vector<std::string> names;
  for (const Json& name : part.at("names")) names.push_back(dumped(name));
  const int64_t begin_ns = part.at("origin").get<int64_t>() - origin_ns;
  for (size_t track = 0; track < part.at("tracks").size(); ++track) {
    const size_t tid = track + 1;
    lines.push_back(named("thread_name", pid, tid, {{"name", part.at("tracks").at(track)}}));
    for (const Json& event : part.at("events").at(track)) {
      lines.push_back(fmt::format(
          R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{}}})", names.at(event.at(0).get<size_t>()), pid, tid,
          microseconds(begin_ns + event.at(1).get<int64_t>()), microseconds(event.at(2).get<int64_t>())));
    }
  }
}

std::vector<ClockOffset> compare_clocks(comm::Group& group) {
  std::vector<ClockOffset> clocks(static_cast<size_t>(group.size()));
  const auto bytes = [](int64_t& number) { return std::as_writable_bytes(std::span(&number, 1)); };
  int64_t there = 0, question = 0;
  const auto answer = [&] {
    const comm::Group::Inward asked{0, bytes(question)};
    group.exchange({}, {&asked, 1}, kTag);
    there = trace::now_ns();
    const comm::Group::Outward said{0, bytes(there)};
    group.exchange({&said, 1}, {}, kTag);
  };
  const auto ask = [&](int rank, ClockOffset& clock) {
    const int64_t before = trace::now_ns();
    const comm::Group::Outward asked{rank, bytes(question)};
    const comm::Group::Inward said{rank, bytes(there)};
    group.exchange({&asked, 1}, {&said, 1}, kTag);
    const int64_t after = trace::now_ns(), error = (after - before + 1) / 2;
    if (error < clock.error_ns) clock = {there - before - (after - before) / 2, error};
  };
  for (int rank = 1; rank < group.size(); ++rank) {
    ClockOffset& clock = clocks[static_cast<size_t>(rank)];
    clock.error_ns = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < kAsked; ++i) {
      if (group.rank() == 0) ask(rank, clock);
      if (group.rank() == rank) answer();
    }
  }
  return clocks;
}

}  // namespace

std::string packed(const trace::Recorded& recorded, const std::string& host, int64_t pid, size_t bytes_max) {
  const std::vector<PlacedEvent> all = in_order(recorded);
  for (size_t count = all.size();;) {
    const auto left_out = recorded.left_out + static_cast<int64_t>(all.size() - count);
    Json part = part_of(recorded, std::span(all).first(count), left_out);
    part.update({{"host", host}, {"pid", pid}});
    std::string text = dumped(part);
    if (text.size() <= bytes_max || count == 0) return text;
    count = std::min(count - 1, count * bytes_max / text.size());
  }
}

std::string trace_json(const std::vector<std::string>& parts, const std::vector<ClockOffset>& clocks,
                       const TraceSteps& steps) {
  std::vector<Json> read;
  int64_t origin_ns = std::numeric_limits<int64_t>::max();  // in rank 0's clock
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    read.push_back(Json::parse(parts[rank], nullptr, false));
    const Json& part = read.back();
    if (part.is_object() && !part.at("names").empty())
      origin_ns = std::min(origin_ns, part.at("origin").get<int64_t>() - clocks.at(rank).ahead_ns);
  }
  std::vector<std::string> lines;
  Json workers = Json::array();
  for (size_t rank = 0; rank < read.size(); ++rank) {
    const Json& part = read[rank];
    if (!part.is_object()) continue;
    const double error_us = 1e-3 * static_cast<double>(clocks[rank].error_ns);
    workers.push_back({{"rank", rank},
                       {"host", part.at("host")},
                       {"pid", part.at("pid")},
                       {"clock_error_us", error_us},
                       {"spans_left_out", part.at("left_out")}});
    const std::string process = fmt::format("worker {}, {}, process {}", rank, part.at("host").get<std::string>(),
                                            part.at("pid").get<int64_t>());
    lines.push_back(named("process_name", rank, 0, {{"name", process}}));
    lines.push_back(named("process_sort_index", rank, 0, {{"sort_index", rank}}));
    if (rank > 0)
      lines.push_back(named("process_labels", rank, 0, {{"labels", fmt::format("clock within {:.3g} us", error_us)}}));
    if (!part.at("names").empty()) add_events(part, rank, origin_ns + clocks[rank].ahead_ns, lines);
  }
  const Json about{
      {"linac", kVersion}, {"first_step", steps.first}, {"last_step", steps.last}, {"workers", std::move(workers)}};
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n{}\n]}}\n", dumped(about),
                     fmt::join(lines, ",\n"));
}

std::string gather_trace(comm::Group& group, const trace::Recorded& mine, const TraceSteps& steps) {
  const std::vector<ClockOffset> clocks = compare_clocks(group);
  const size_t bytes_max =
      std::clamp(kAllBytesMax / static_cast<size_t>(group.size()), kPartBytesLeast, comm::Group::kMaxTextBytes);
  const std::vector<std::string> parts = group.gather_text(packed(mine, host_name(), getpid(), bytes_max));
  return group.rank() == 0 ? trace_json(parts, clocks, steps) : "";
}

}  // namespace linac::train
