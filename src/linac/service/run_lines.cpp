#include "linac/service/run_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/catalog/refusal.h"

namespace linac::service {
namespace {

using catalog::KeyedPoint;
using nlohmann::json;

constexpr size_t kGenerationsMax = 1000;
constexpr int64_t kStepMax = int64_t{1} << 53;

// NaN and infinities stand in the file as texts.
std::optional<double> number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& word = value.get_ref<const std::string&>();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

int64_t integer(const json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_number()) return -1;
  const double value = found->get<double>();
  return std::isfinite(value) && std::abs(value) < static_cast<double>(kStepMax) ? static_cast<int64_t>(value) : -1;
}

const json& member(const json& line, const char* name) {
  static const json none = json::object();
  const auto found = line.find(name);
  return found == line.end() ? none : *found;
}

// Gathers the points of one chunk; those without a time wait for the next moment.
class Gatherer {
 public:
  explicit Gatherer(RunMoment moment) : moment_(moment) {}

  void add(const std::string& key, int64_t step, const json& value) {
    const auto found = number(value);
    if (!found || key.empty() || key.size() > catalog::kKeyMax) return;
    points.push_back({key, {step, 0, *found}});
  }

  // {"loss": 1, "d_real": {"total": 2, "angle": 3}}: as TensorBoard names them.
  void add_step_losses(int64_t step, const json& losses) {
    if (!losses.is_object()) return;
    for (const auto& [name, value] : losses.items()) {
      if (!value.is_object()) {
        add(name, step, value);
        continue;
      }
      for (const auto& [part, number] : value.items())
        add(part == "total" ? "loss/" + name : "parts/" + name + "/" + part, step, number);
    }
  }

  void add_wholes(const std::string& prefix, int64_t step, const json& measures) {
    if (!measures.is_object()) return;
    for (const auto& [name, value] : measures.items())
      add(prefix + name, step, value.is_object() ? member(value, "total") : value);
  }

  void reach(RunMoment next) {
    for (size_t i = timed_; i < points.size(); ++i) points[i].point.time_ms = time_of(points[i].point.step, next);
    timed_ = points.size();
    moment_ = next;
  }
  const RunMoment& moment() const { return moment_; }
  int64_t last_step() const { return points.empty() ? moment_.step : points.back().point.step; }

  std::vector<KeyedPoint> points;

 private:
  int64_t time_of(int64_t step, const RunMoment& next) const {
    double time = next.time;
    if (moment_.time > 0 && next.time > moment_.time) {
      const auto all = static_cast<double>(next.step - moment_.step), done = static_cast<double>(step - moment_.step);
      const double part = all > 0 ? std::clamp(done / all, 0.0, 1.0) : 1.0;
      time = moment_.time + part * (next.time - moment_.time);
    }
    return static_cast<int64_t>(std::llround(1000 * time));
  }

  RunMoment moment_;
  size_t timed_ = 0;
};

// Goes beyond what is kept? Then it is kept.
bool advances(std::map<int64_t, int64_t>& kept, int64_t rollbacks, int64_t number) {
  if (number < 0) return false;
  const auto found = kept.find(rollbacks);
  if (found != kept.end() && number <= found->second) return false;
  if (found == kept.end() && kept.size() >= kGenerationsMax) return false;
  kept[rollbacks] = number;
  return true;
}

void read_workers(const json& line, int64_t step, Gatherer& gatherer) {
  std::map<std::string, double> sums;
  const json& workers = member(line, "workers");
  if (!workers.is_array()) return;
  for (const json& worker : workers) {
    if (!worker.is_object()) continue;
    const json& phases = member(worker, "phases");
    if (!phases.is_object()) continue;
    for (const auto& [name, seconds] : phases.items())
      if (seconds.is_object() && sums.size() < 64)
        sums["time/" + name] += number(member(seconds, "wall_s")).value_or(0);
    sums["time/cpu"] += number(member(worker, "cpu_s")).value_or(0);
  }
  for (const auto& [key, sum] : sums) gatherer.add(key, step, sum);
}

void read_epoch(const json& line, int64_t step, Gatherer& gatherer) {
  gatherer.add_wholes("train/", step, member(line, "train"));
  gatherer.add_wholes("test/", step, member(line, "test"));
  gatherer.add_wholes("physics/", step, member(line, "physics"));
  gatherer.add("epoch_seconds", step, member(line, "seconds"));
  for (const auto& [name, value] : line.items())
    if (name.ends_with("_per_s")) gatherer.add(name, step, value);
}

void read_line(const json& line, RunCursor& cursor, Gatherer& gatherer) {
  const auto& word = member(line, "kind");
  const std::string kind = word.is_string() ? word.get<std::string>() : "";
  const int64_t step = integer(line, "global_step");
  if (kind == "rollback") cursor.rollbacks = std::max<int64_t>(0, integer(line, "rollbacks"));
  if (step < 0) return;
  if (kind == "step" && advances(cursor.steps, cursor.rollbacks, step)) {
    gatherer.add_step_losses(step, member(line, "loss"));
    gatherer.add("learning_rate", step, member(line, "lr"));
  } else if (kind == "epoch" && advances(cursor.epochs, cursor.rollbacks, integer(line, "epoch"))) {
    read_epoch(line, step, gatherer);
  } else if (kind == "view" || kind == "workers" || kind == "end") {
    const double time = number(member(line, "time")).value_or(0);
    if (!(time > 0 && time < 1e11)) return;
    gatherer.reach({time, step});
    if (time <= cursor.told) return;
    cursor.told = time;
    if (kind == "view")
      gatherer.add("workers", step, member(line, "members").size());
    else
      read_workers(line, step, gatherer);
    gatherer.reach({time, step});
  }
}

}  // namespace

std::string RunCursor::encoded() const {
  return json{steps, epochs, told, offset, rollbacks, moment.time, moment.step}.dump();
}

RunCursor RunCursor::decoded(const std::string& text) {
  RunCursor cursor;
  try {
    const json values = json::parse(text);
    values.at(0).get_to(cursor.steps);
    values.at(1).get_to(cursor.epochs);
    values.at(2).get_to(cursor.told);
    values.at(3).get_to(cursor.offset);
    values.at(4).get_to(cursor.rollbacks);
    values.at(5).get_to(cursor.moment.time);
    values.at(6).get_to(cursor.moment.step);
  } catch (const json::exception&) {
    return {};
  }
  return cursor;
}

ReadLines read_run_lines(const RunCursor& cursor, int64_t offset, std::string_view text, int64_t until_ms) {
  ReadLines read{cursor, cursor, {}, 0};
  if (offset == 0) {
    read.after.offset = read.after.rollbacks = 0;
    read.after.moment = {};
  } else if (offset != cursor.offset) {
    throw catalog::Refusal(
        catalog::RefusalKind::kState,
        fmt::format("[ingest] lines from byte {} on, but byte {} comes next; send that, or begin at 0", offset,
                    cursor.offset));
  }
  Gatherer gatherer(read.after.moment);
  read.after.offset = offset + static_cast<int64_t>(text.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const json parsed = line.size() > kRunLineBytesMax ? json() : json::parse(line, nullptr, false);
    if (parsed.is_object())
      read_line(parsed, read.after, gatherer);
    else
      ++read.damaged;
  }
  const double until = until_ms > 0 ? 1e-3 * static_cast<double>(until_ms) : gatherer.moment().time;
  gatherer.reach({std::max(until, gatherer.moment().time), gatherer.last_step()});
  read.after.moment = gatherer.moment();
  read.points = std::move(gatherer.points);
  return read;
}

std::string_view whole_lines(std::string_view text) {
  const size_t last = text.rfind('\n');
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace linac::service
