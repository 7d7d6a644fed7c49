#include "linac/cli/control/launched_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/control/launched.h"
#include "linac/control/sites/parts.h"

namespace linac::cli {
namespace {

using nlohmann::json;
using sites::LaunchName;

struct KeptPart {
  sites::KeptLaunch kept;
  std::unique_ptr<sites::Site> site;
};

// The beginning of a label is enough for the first; the others have the same one.
std::vector<KeptPart> kept_parts(const LaunchName& name) {
  if (name.label.empty())
    throw user_error(fmt::format("[launch] {}: is of several sites; name the launch, or ask of each site", name.site));
  std::vector<KeptPart> all;
  for (const LaunchName& one : sites::parts_of(name)) {
    const std::string label = all.empty() ? one.label : all.front().kept.record.label;
    sites::KeptLaunch kept = sites::find_launch(one.site, label, false);
    auto site = sites::find_site(one.site, kept.record.changes);
    all.push_back({std::move(kept), std::move(site)});
  }
  return all;
}

// Where one cannot be asked, the others still tell.
std::vector<sites::PartStanding> standings_of(const std::vector<KeptPart>& parts) {
  std::vector<sites::PartStanding> all;
  for (const KeptPart& part : parts) {
    sites::PartStanding& one = all.emplace_back();
    one.site = part.kept.record.site;
    try {
      one.standing = asked_standing(*part.site, part.kept);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kEnvironment) throw;
      one.standing.reason = error.what();
      one.answers = false;
    }
  }
  return all;
}

// Nothing goes on that is known, and somebody does not answer.
bool is_silent(const std::vector<sites::PartStanding>& standings) {
  return std::ranges::none_of(standings,
                              [](const sites::PartStanding& one) {
                                return one.answers && (!job::ended(one.standing.state) ||
                                                       one.standing.state == job::RunState::kSucceeded);
                              }) &&
         std::ranges::any_of(standings, [](const sites::PartStanding& one) { return !one.answers; });
}

// What a part prints, by whole lines.
struct PartLog {
  int64_t from = 0;
  std::string begun{};

  void print(const std::string& site, const std::string& piece) {
    from += static_cast<int64_t>(piece.size());
    begun += piece;
    size_t at = 0;
    for (size_t end = 0; (end = begun.find('\n', at)) != std::string::npos; at = end + 1)
      fmt::print("[{}] {}\n", site, begun.substr(at, end - at));
    begun.erase(0, at);
    std::fflush(stdout);
  }
};

// By itself, while the others may go on: those that somebody has cancelled stop all.
bool is_lost(job::RunState state) {
  return state == job::RunState::kLost || state == job::RunState::kFailed;
}

// What it has kept there says where the others are.
void need_folder_of_run(const sites::KeptLaunch& kept) {
  if (!kept.launch.out.starts_with('/'))
    throw user_error(
        fmt::format("[launch] {}:{}: its run is at {}, and no folder there says where the others are; when all have "
                    "ended, resume the whole",
                    kept.record.site, kept.record.label, kept.launch.out));
}

}  // namespace

bool is_several(const LaunchName& name) {
  return sites::parts_of(name).size() > 1;
}

void print_parts(const LaunchName& name, bool as_json) {
  const std::vector<KeptPart> parts = kept_parts(name);
  const std::vector<sites::PartStanding> standings = standings_of(parts);
  int workers = 0;
  for (const KeptPart& part : parts) workers += part.kept.launch.workers;
  const sites::Standing whole = sites::standing_of_parts(standings);
  const sites::Record& first = parts.front().kept.record;
  // Of one that was lost the record ends where it was.
  size_t whose = 0;
  while (whose + 1 < parts.size() && standings[whose].answers && job::ended(standings[whose].standing.state) &&
         standings[whose].standing.state != job::RunState::kSucceeded)
    ++whose;
  if (job::ended(whole.state) && whole.state != job::RunState::kSucceeded) whose = 0;
  const std::string& out = parts[whose].kept.record.out;
  json list = json::array();
  TextRows rows{{"  PART", "STATE", "WORKERS", "RUN", ""}};
  for (size_t i = 0; i < parts.size(); ++i) {
    const sites::Record& record = parts[i].kept.record;
    const sites::Standing& standing = standings[i].standing;
    const std::string state = standings[i].answers ? job::to_string(standing.state) : "UNKNOWN";
    list.push_back({{"site", record.site},
                    {"state", state},
                    {"reason", standing.reason},
                    {"id", record.id},
                    {"out", record.out},
                    {"workers", parts[i].kept.launch.workers}});
    rows.push_back(
        {"  " + record.site, state, std::to_string(parts[i].kept.launch.workers), record.out, standing.reason});
  }
  if (as_json) {
    fmt::print("{}\n", json{{"launch", first.label},
                            {"site", name.site},
                            {"state", job::to_string(whole.state)},
                            {"reason", whole.reason},
                            {"out", out},
                            {"workers", workers},
                            {"parts", list}}
                           .dump(2));
    return;
  }
  fmt::print("{}:{}\n  state     {}{}\n  run       {}\n  workers   {}\n{}", name.site, first.label,
             job::to_string(whole.state), whole.reason.empty() ? "" : ": " + whole.reason, out, workers,
             lined_up(std::move(rows)));
  if (whole.state != job::RunState::kRunning) return;
  for (const sites::PartStanding& one : standings)
    if (one.answers && is_lost(one.standing.state))
      fmt::print("  linac resume {}:{}    # its workers come back to the others\n", one.site, first.label);
}

int print_parts_log(const LaunchName& name, int64_t from, bool follow) {
  constexpr int kAwayMax = 100;  // times in a row that nobody says how it stands
  if (from < 0)
    throw user_error(fmt::format("[launch] {}:{}: the end of a log is one part's; name it, as {}:{}", name.site,
                                 name.label, sites::parts_of(name).front().site, name.label));
  const std::vector<KeptPart> parts = kept_parts(name);
  std::vector<PartLog> logs(parts.size(), PartLog{from});
  int away = 0;
  for (;;) {
    // First how it stands, then what it has said by then: so nothing of the end is missed.
    const std::vector<sites::PartStanding> standings = standings_of(parts);
    for (size_t i = 0; i < parts.size(); ++i) {
      try {
        for (std::string piece; !(piece = parts[i].site->log(parts[i].kept.record, logs[i].from)).empty();)
          logs[i].print(parts[i].kept.record.site, piece);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kEnvironment) throw;
        if (!follow) log::warn(error.what());
      }
    }
    const sites::Standing whole = sites::standing_of_parts(standings);
    away = is_silent(standings) ? away + 1 : 0;
    if (away >= kAwayMax) throw environment_error("[launch] " + whole.reason);
    if (!follow || job::ended(whole.state)) {
      for (size_t i = 0; i < parts.size(); ++i)
        if (!logs[i].begun.empty()) logs[i].print(parts[i].kept.record.site, "\n");
      if (!follow) return 0;
      return whole.exit == int(ErrorCode::kBudget) ? *whole.exit : job::exit_status(whole.state);
    }
    auto pause = std::chrono::seconds(1);
    for (const KeptPart& part : parts) pause = std::max(pause, part.site->facts().pause);
    std::this_thread::sleep_for(pause);
  }
}

void cancel_parts(const LaunchName& name) {
  std::exception_ptr failure;
  for (const KeptPart& part : kept_parts(name)) {
    try {
      cancel_launch({part.kept.record.site, part.kept.record.label});
    } catch (const Error& error) {
      if (failure) log::error(error.what());
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void resume_parts(const LaunchName& name) {
  const std::vector<KeptPart> parts = kept_parts(name);
  std::vector<job::RunState> states;
  for (const KeptPart& part : parts) states.push_back(asked_standing(*part.site, part.kept).state);
  const bool some_run = std::ranges::find(states, job::RunState::kRunning) != states.end();
  const bool joins =
      some_run && std::ranges::any_of(states, is_lost) && std::ranges::all_of(states, [](job::RunState state) {
        return is_lost(state) || state == job::RunState::kRunning;
      });
  for (size_t i = 0; i < parts.size() && !joins; ++i) {
    if (job::ended(states[i]) && states[i] != job::RunState::kSucceeded) continue;
    throw user_error(fmt::format("[launch] {}:{}: {} is {}; it is resumed when all have ended without success",
                                 name.site, parts[i].kept.record.label, parts[i].kept.record.site,
                                 job::to_string(states[i])));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (joins && !is_lost(states[i])) continue;
    if (joins) need_folder_of_run(parts[i].kept);
    print_started({sites::resume(*parts[i].site, parts[i].kept.record.label, joins)}, true);
  }
}

bool comes_back(const sites::KeptLaunch& kept) {
  const auto whole = sites::whole_of(kept);
  if (!whole) return false;
  const LaunchName name{whole->substr(0, whole->rfind(':')), kept.record.label};
  bool lost = false, some_run = false;
  for (const KeptPart& part : kept_parts(name)) {
    const bool is_it = part.kept.record.site == kept.record.site;
    const job::RunState state = asked_standing(*part.site, part.kept).state;
    if (is_it) lost = is_lost(state);
    some_run = some_run || (!is_it && state == job::RunState::kRunning);
  }
  if (!lost || !some_run)
    throw user_error(fmt::format("[launch] {}:{}: is a part; resume {}", kept.record.site, kept.record.label, *whole));
  need_folder_of_run(kept);
  return true;
}

}  // namespace linac::cli
