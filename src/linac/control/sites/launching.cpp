#include "linac/control/sites/launching.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/base/log.h"
#include "linac/base/base/secure_random.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/label.h"

namespace linac::sites {
namespace {

constexpr size_t kKeyDigits = 64;

int workers_in(std::string_view text, const std::string& whole) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > kWorkersMax)
    throw user_error(fmt::format("[launch] --workers {}: expected N or MIN:MAX from 1 to {}", whole, kWorkersMax));
  return value;
}

void set_workers(Launch& launch, const std::string& text) {
  const std::string_view view = text;
  const size_t colon = view.find(':');
  if (colon != std::string_view::npos) launch.workers_min = workers_in(view.substr(0, colon), text);
  launch.workers = workers_in(view.substr(colon == std::string_view::npos ? 0 : colon + 1), text);
  if (launch.workers_min > launch.workers)
    throw user_error(fmt::format("[launch] --workers {}: expected N or MIN:MAX, the larger one last", text));
}

// Of all that makes a launch another one, but its place and key. A name that was given is part of it: the command
// without one is another command.
std::string digest_of(const Launch& launch, bool named_out, const std::map<std::string, std::string>& changes,
                      const std::string& name) {
  std::string text =
      fmt::format("{}{}\n{}:{}\n{}\n{}{}{}", launch.agents ? "agents" : "", launch.job, launch.workers_min,
                  launch.workers, launch.seconds_max, named_out ? launch.out : "", name.empty() ? "" : "\n", name);
  for (const auto& [key, value] : changes) text += fmt::format("\n{}={}", key, value);
  for (const std::string& host : launch.exclude) text += "\n-" + host;
  return fmt::format("{:016x}", fnv1a_64(text));  // compared with what this user's program wrote, and no more
}

}  // namespace

std::string label_of(const std::string& given, const std::string& what) {
  if (!given.empty() && !is_label(given))
    throw user_error(fmt::format("[launch] --name {}: use at most 100 letters, digits and ._-", printable(given)));
  return given.empty() ? new_label(what) : given;
}

std::string new_key() {
  return random_hex(kKeyDigits);
}

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string default_out(const Site& site, const std::string& label, bool script) {
  if (script) return fmt::format("{}/{}/out", site.common().folder, label);
  const std::string& out = site.common().out;
  if (const auto* keeps = site.as<KeepsRuns>(); keeps != nullptr && out.empty()) return keeps->own_place(label);
  return (out.empty() ? site.common().folder : out.substr(0, out.find_last_not_of('/') + 1)) + "/" + label;
}

std::vector<Finding> over_budget(const job::Job& job) {
  struct Row {
    const char* name;
    const std::vector<double>& planned;
    double limit;
  };
  const Row rows[] = {{"hours", job.plan.hours, job.budget.hours},
                      {"money", job.plan.money, job.budget.money},
                      {"kwh", job.plan.kwh, job.budget.kwh},
                      {"co2_kg", job.plan.co2_kg, job.budget.co2_kg}};
  std::vector<Finding> all;
  for (const auto& [name, planned, limit] : rows) {
    if (limit <= 0 || planned.size() != 3 || planned[0] <= limit) continue;
    all.push_back({false, "budget",
                   fmt::format("plan.{0} is {1:.3g} to {2:.3g}, and budget.{0} allows {3:g}: raise it, or plan another "
                               "place (linac plan)",
                               name, planned[0], planned[2], limit)});
  }
  return all;
}

job::Job resolved_job(const std::string& file, const std::vector<std::string>& overrides) {
  job::Job job = job::read_job(file, overrides);
  job::make_paths_absolute(job);
  return job;
}

Launch make_launch(const Site& site, const Wishes& wishes) {
  return make_launch(site, resolved_job(wishes.job, wishes.overrides), wishes);
}

Launch make_launch(const Site& site, const job::Job& job, const Wishes& wishes) {
  Launch launch;
  launch.label = label_of(wishes.name, job.name);
  if (!wishes.exclude.empty() && !site.facts().excludes)
    throw user_error(
        fmt::format("[launch] --exclude: {} chooses its hosts itself, and is told none; leave it out", site.name()));
  launch.exclude = wishes.exclude;
  const Facts facts = site.facts();
  const int64_t room = facts.workers - static_cast<int64_t>(site.left_out(launch).size()) * facts.workers_a_host;
  if (!wishes.workers.empty())
    set_workers(launch, wishes.workers);
  else
    launch.workers = static_cast<int>(facts.workers > 0 ? std::min<int64_t>(room, job.train.pieces()) : job.workers);
  if (launch.workers > job.train.pieces())
    throw user_error(fmt::format("[launch] {} workers for {}: a worker carries at least one", launch.workers,
                                 job::pieces_in_words(job.train)));
  if (!wishes.time.empty()) launch.seconds_max = seconds_of("[launch] --time", wishes.time);
  if (!wishes.out.empty() && !wishes.out.starts_with('/') && !wishes.out.starts_with("s3://"))
    throw user_error(
        fmt::format("[launch] --out {}: neither a path from / on nor s3://BUCKET/FOLDER; it is a place there, not here",
                    wishes.out));
  launch.out = wishes.out.empty() ? default_out(site, launch.label, false) : wishes.out;
  launch.job = job::to_yaml(job);
  launch.key = new_key();
  return launch;
}

Launch make_agents(const Site& site, const AgentWishes& wishes) {
  if (!site.facts().carries_agents)
    throw user_error(
        fmt::format("[agents] {}: agents are started by hand there, e.g. by sbatch (docs/guide/launch.md); "
                    "sites of the kind panda start them",
                    site.name()));
  if (wishes.count < 1 || wishes.count > kWorkersMax)
    throw user_error(fmt::format("[agents] --count {}: expected a number from 1 to {}", wishes.count, kWorkersMax));
  Launch launch;
  launch.label = label_of(wishes.name, "agents");
  launch.agents = true;
  launch.workers = wishes.count;
  if (!wishes.time.empty()) launch.seconds_max = seconds_of("[agents] --time", wishes.time);
  launch.out = default_out(site, launch.label, false);
  launch.key = new_key();
  return launch;
}

void tell_left_out(const Site& site, const Launch& launch) {
  for (const std::string& host : site.left_out(launch))
    log::warn(fmt::format("[launch] {}: {} is excluded, and left out", site.name(), host));
}

Started start(const Site& site, Launch launch, bool named, const std::map<std::string, std::string>& changes) {
  // Of all launches of this user there: two that are asked for at the same moment take turns.
  const LaunchLock lock(site.name());
  const bool named_out = launch.out != default_out(site, launch.label, launch.script.has_value());
  KeptLaunch kept{{launch.label,
                   site.name(),
                   site.common().kind,
                   site.common().folder,
                   launch.out,
                   "",
                   {},
                   launch.script.has_value(),
                   changes},
                  launch,
                  false,
                  digest_of(launch, named_out, changes, named ? launch.label : ""),
                  now_ms(),
                  ""};
  bool before = false;
  for (const KeptLaunch& other : kept_launches(site.name())) {
    const bool same_name = other.record.label == launch.label;
    if (named ? !same_name : (other.submitted || other.digest != kept.digest)) continue;
    if (named && other.digest != kept.digest && other.digest != digest_of(launch, named_out, changes, ""))
      throw user_error(
          fmt::format("[launch] --name {}: another launch has it, with another job or other options; "
                      "choose another name",
                      launch.label));
    if (other.submitted) return {other, true};
    before = true;
    kept.record = other.record;
    kept.launch.label = other.record.label;
    kept.launch.out = other.record.out;
    kept.launch.key = other.launch.key;
    break;
  }
  kept.record.hosts = chosen_hosts(site, kept.launch);
  site.plan(kept.launch);  // what is wrong with it is known before anything is kept
  tell_left_out(site, kept.launch);
  keep(kept);
  kept.record.id = site.submit(kept.launch);
  kept.submitted = true;
  keep(kept);
  return {kept, before};
}

KeptLaunch resume(const Site& site, const std::string& label, bool joins) {
  const LaunchLock lock(site.name());
  KeptLaunch kept = find_launch(site.name(), label, true);
  const std::string name = site.name() + ":" + kept.record.label;
  if (kept.record.script)
    throw user_error(fmt::format("[launch] {}: a script's has no checkpoint of linac; `linac spawn` it again", name));
  if (kept.launch.job.empty() || !kept.submitted)
    throw user_error(fmt::format("[launch] {}: nothing here says how to start it; the same `linac launch` does", name));
  const auto end = job::run_state_named(kept.ended);
  const Standing standing = site.standing(kept.record);
  const job::RunState state = standing.state == job::RunState::kLost && end ? *end : standing.state;
  if (!job::ended(state) || state == job::RunState::kSucceeded)
    throw user_error(
        fmt::format("[launch] {}: it is {}; only what has ended without success goes on", name, job::to_string(state)));
  kept.launch.joins = joins;
  site.plan(kept.launch);
  site.reopen(kept.record);
  kept.record.index = 0;  // from now on it is a job of its own
  kept.ended.clear();
  keep(kept);
  kept.record.id = site.submit(kept.launch);
  keep(kept);
  return kept;
}

}  // namespace linac::sites
