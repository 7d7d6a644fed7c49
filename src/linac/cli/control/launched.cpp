#include "linac/cli/control/launched.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/control/launched_parts.h"
#include "linac/control/client/runs.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/record.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {
namespace {

using nlohmann::json;
constexpr size_t kAskedMax = 20;  // of a table: each may be a connection
constexpr const char* kNotSubmitted = "nobody knows whether it was submitted; the same `linac launch` goes on with it";

void keep_end(sites::KeptLaunch& kept, job::RunState state) {
  kept.ended = job::to_string(state);
  try {
    sites::keep(kept);
  } catch (const Error& error) {
    log::warn(error.what());  // it is asked again the next time
  }
}

}  // namespace

// What the site says, or where it knows nothing any more what is known of the end.
sites::Standing asked_standing(const sites::Site& site, const sites::KeptLaunch& kept) {
  if (!kept.submitted) return {job::RunState::kPending, kNotSubmitted, {}};
  const auto end = job::run_state_named(kept.ended);
  sites::Standing standing;
  try {
    standing = site.standing(kept.record);
  } catch (const Error& error) {
    if (!end || error.code() != ErrorCode::kEnvironment) throw;
    log::warn(fmt::format("{}; so it was when it was last asked", error.what()));
    return {*end, "", {}};
  }
  if (end && standing.state == job::RunState::kLost) return {*end, "", {}};
  return standing;
}

namespace {

// Asks the site, unless the end is known.
sites::Standing standing_of(const sites::Site& site, sites::KeptLaunch& kept) {
  if (!kept.ended.empty())
    if (const auto state = job::run_state_named(kept.ended)) return {*state, "", {}};
  return asked_standing(site, kept);
}

void print_all(const std::string& name, bool as_json) {
  const auto plain = sites::find_site(name);
  json list = json::array();
  TextRows rows{{"LAUNCH", "STATE", "WORKERS", "LAUNCHED", "RUN"}};
  size_t asked = 0;
  for (sites::KeptLaunch& kept : sites::kept_launches(name)) {
    std::string state = kept.ended;
    if (state.empty() && asked++ < kAskedMax) {
      const auto changed = kept.record.changes.empty() ? nullptr : sites::find_site(name, kept.record.changes);
      const sites::Standing standing = standing_of(changed ? *changed : *plain, kept);
      state = job::to_string(standing.state);
      // A lost one may be found again: its disk was not there, or somebody put it back into the queue.
      if (kept.submitted && job::ended(standing.state) && standing.state != job::RunState::kLost)
        keep_end(kept, standing.state);
    }
    list.push_back(
        {{"launch", kept.record.label}, {"state", state}, {"workers", kept.launch.workers}, {"out", kept.record.out}});
    rows.push_back({kept.record.label, state.empty() ? "-" : state, std::to_string(kept.launch.workers),
                    client::time_words(kept.started_ms), kept.record.out});
  }
  if (as_json)
    fmt::print("{}\n", list.dump(2));
  else if (rows.size() > 1)
    fmt::print("{}", lined_up(rows));
  else
    fmt::print("nothing was launched at {} from here\n", name);
}

}  // namespace

void print_plan(const std::vector<sites::PlannedStep>& steps) {
  for (const sites::PlannedStep& step : steps)
    fmt::print("{}{}{}", step.title.empty() ? "" : fmt::format("=== {}\n", step.title), step.text,
               step.text.ends_with('\n') ? "" : "\n");
}

bool print_findings(const std::vector<sites::Finding>& findings) {
  TextRows rows;
  for (const sites::Finding& finding : findings)
    rows.push_back({!finding.good ? "no" : finding.doubtful ? "?" : "ok", finding.what, finding.text});
  fmt::print("{}", lined_up(std::move(rows)));
  std::fflush(stdout);
  return std::ranges::all_of(findings, &sites::Finding::good);
}

void add_as_option(CLI::App& verb, std::string& as) {
  verb.add_option("--as", as, "with --dry-run: as an object of Kubeflow, for who applies it by other means")
      ->check(CLI::IsMember({"trainjob", "tfjob", "pytorchjob"}));
}

void need_dry_run(const std::string& as, bool dry_run) {
  if (!as.empty() && !dry_run)
    throw user_error(fmt::format("[launch] --as {}: linac makes no such object; print it with --dry-run", as));
}

void print_started(const sites::Started& started, bool followed) {
  const sites::Record& record = started.kept.record;
  const std::string name = record.site + ":" + record.label;
  fmt::print("{}  {}{}\n", name, plural(started.kept.launch.workers, "worker"),
             started.found ? ", as it was launched before" : "");
  fmt::print("  run     {}\n", record.out);
  if (record.id != record.label) fmt::print("  job     {}\n", record.id);
  if (!followed) fmt::print("  linac logs -f {}\n", name);
  std::fflush(stdout);
}

int follow_launch(const LaunchName& name) {
  const int status = print_launch_log(name, 0, true);
  print_launch(name, false);
  return status;
}

void print_launch(const LaunchName& name, bool as_json) {
  if (is_several(name)) return print_parts(name, as_json);
  if (name.label.empty()) return print_all(name.site, as_json);
  const sites::KeptLaunch kept = sites::find_launch(name.site, name.label, false);
  const auto site = sites::find_site(name.site, kept.record.changes);
  const sites::Standing standing = asked_standing(*site, kept);
  if (as_json) {
    json out{{"launch", kept.record.label},   {"site", name.site},    {"state", job::to_string(standing.state)},
             {"reason", standing.reason},     {"id", kept.record.id}, {"out", kept.record.out},
             {"workers", kept.launch.workers}};
    for (const auto& [what, text] : standing.details) out["details"][what] = text;
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("{}:{}\n", name.site, kept.record.label);
  fmt::print("  state     {}{}\n", job::to_string(standing.state),
             standing.reason.empty() ? "" : ": " + standing.reason);
  fmt::print("  run       {}\n  workers   {}\n  launched  {}\n", kept.record.out, kept.launch.workers,
             client::time_words(kept.started_ms));
  for (const auto& [what, text] : standing.details) fmt::print("  {:<8}  {}\n", what, text);
}

int print_launch_log(const LaunchName& name, int64_t from, bool follow) {
  if (is_several(name)) return print_parts_log(name, from, follow);
  constexpr int kAwayMax = 100;  // times in a row that the site is not reached
  const sites::KeptLaunch kept = sites::find_launch(name.site, name.label, false);
  const auto site = sites::find_site(name.site, kept.record.changes);
  if (from < 0) {  // all of it is read: no place tells a size in the same way
    std::string all;
    for (std::string piece; !(piece = site->log(kept.record, static_cast<int64_t>(all.size()))).empty();) all += piece;
    from = std::max<int64_t>(0, static_cast<int64_t>(all.size()) + from);
  }
  int away = 0;
  for (;;) {
    try {
      // First how it stands, then what it has said by then: so nothing of the end is missed.
      sites::Standing standing{job::RunState::kSucceeded, "", {}};
      if (follow) standing = asked_standing(*site, kept);
      const bool all = !follow || job::ended(standing.state);
      std::string piece;
      do {
        piece = site->log(kept.record, from);
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
        from += static_cast<int64_t>(piece.size());
      } while (all && !piece.empty());
      if (all) return standing.exit == int(ErrorCode::kBudget) ? *standing.exit : job::exit_status(standing.state);
      away = 0;
    } catch (const Error& error) {
      if (!follow || error.code() != ErrorCode::kEnvironment || ++away >= kAwayMax) throw;
      if (away == 1) log::warn(fmt::format("{}; waiting for it", error.what()));
    }
    std::this_thread::sleep_for(site->facts().pause);
  }
}

void cancel_launch(const LaunchName& name) {
  if (is_several(name)) return cancel_parts(name);
  sites::KeptLaunch kept = sites::find_launch(name.site, name.label, true);
  const auto site = sites::find_site(name.site, kept.record.changes);
  // Before it is forgotten: one that had come to its end is only tidied up.
  const auto before = site->facts().forgets ? asked_standing(*site, kept).state : job::RunState::kRunning;
  fmt::print("{}:{}  {}\n", name.site, kept.record.label, site->cancel(kept.record));
  if (site->facts().forgets && before != job::RunState::kLost)
    keep_end(kept, job::ended(before) ? before : job::RunState::kCancelled);
}

void resume_launch(const LaunchName& name) {
  if (is_several(name)) return resume_parts(name);
  const sites::KeptLaunch kept = sites::find_launch(name.site, name.label, true);
  const bool joins = comes_back(kept);
  print_started({sites::resume(*sites::find_site(name.site, kept.record.changes), kept.record.label, joins)}, joins);
}

void delete_launch(const LaunchName& name) {
  constexpr auto kPatience = std::chrono::seconds(20);  // then it is made to
  sites::KeptLaunch kept = sites::find_launch(name.site, name.label, true);
  const auto site = sites::find_site(name.site, kept.record.changes);
  const auto gone = [&] {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    do {
      if (job::ended(asked_standing(*site, kept).state)) return true;
      std::this_thread::sleep_for(
          std::min<std::chrono::milliseconds>(site->facts().pause, std::chrono::milliseconds(500)));
    } while (std::chrono::steady_clock::now() < until);
    return false;
  };
  bool ended = !kept.submitted;
  for (int tries = 0; tries < 3 && !ended; ++tries) {
    site->cancel(kept.record);
    ended = gone();
  }
  if (!ended)
    throw environment_error(fmt::format("[spawn] {}:{}: it does not end; `linac status {}:{}` says how it stands",
                                        name.site, kept.record.label, name.site, kept.record.label));
  if (const auto* folders = site->as<sites::HasFolders>()) folders->remove(kept.record);
  sites::forget(kept.record);
  fmt::print("{}:{}  deleted{}\n", name.site, kept.record.label,
             site->facts().forgets ? "" : "; what it has written is in " + kept.record.out);
}

}  // namespace linac::cli
