#include "linac/control/service/studies/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/tune/point_json.h"

namespace linac::service {
namespace {

using catalog::StudyLease;
using nlohmann::json;

constexpr int64_t kAskAgainMs = 1000, kAskAgainMaxMs = 2000;  // where there is no trial for now

const StudyLease* lease_of(const OpenStudy& study, const std::string& holder) {
  for (const auto& [trial, lease] : study.leases)
    if (lease.holder == holder) return &lease;
  return nullptr;
}

const tune::Trial& trial_of(const OpenStudy& study, int64_t trial) {
  const tune::Trial* const found = study.ledger.history().find(trial);
  if (found == nullptr)
    throw Refusal(RefusalKind::kNotFound,
                  fmt::format("[studies] there is no trial {} of '{}'; {} were asked for", trial, study.record.name,
                              study.ledger.history().trials().size()));
  return *found;
}

/// The lease of a trial that runs, and is the holder's.
const StudyLease& lease_of(const OpenStudy& study, int64_t trial, const std::string& holder) {
  const tune::Trial& found = trial_of(study, trial);
  if (found.state != tune::State::kRunning)
    throw Refusal(RefusalKind::kState, fmt::format("[studies] trial {} of '{}' was told before, as {}", trial,
                                                   study.record.name, study::to_string(found.state)));
  const StudyLease& lease = study.leases.at(trial);
  if (!holder.empty() && lease.holder != holder)
    throw Refusal(RefusalKind::kState,
                  fmt::format("[studies] trial {} of '{}' was given to another after its lease had run out; leave it",
                              trial, study.record.name));
  return lease;
}

/// Nobody fills the catalog by reporting.
void check_room(const OpenStudy& study) {
  if (study.ledger.lines() >= kStudyLinesMax)
    throw Refusal(RefusalKind::kLimit,
                  fmt::format("[studies] '{}' has {} lines, and no study has more; report less often in the next one",
                              study.record.name, kStudyLinesMax));
}

/// What the queue carries out nobody else asks and tells.
void check_asked_by_programs(const OpenStudy& study) {
  if (!study.ledger.study().job.empty())
    throw Refusal(RefusalKind::kState,
                  fmt::format("[studies] the queue carries out '{}', and asks and tells its trials; `linac study show` "
                              "shows them, `linac study stop` ends them",
                              study.record.name));
}

json values_words(const std::vector<double>& values) {
  json words = json::array();
  for (const double value : values) words.push_back(http::number_json(value));
  return words;
}

}  // namespace

StudyStep ask_step(OpenStudy& study, const std::string& holder, int64_t lease_ms, int64_t now_ms) {
  check_asked_by_programs(study);
  if (const StudyLease* own = lease_of(study, holder)) {
    StudyLease lease = *own;
    lease.until_ms = now_ms + lease_ms;
    return {.leases = {lease}};
  }
  const int64_t attempts = study.ledger.study().settings.budget.attempts;
  for (const auto& [trial, former] : study.leases) {
    if (former.until_ms > now_ms) continue;
    if (former.given >= attempts)
      return {.lines = {study.ledger.tell(trial, tune::State::kFailed, {},
                                          fmt::format("given {} times, and lost each time", former.given))},
              .free = {trial},
              .again = true};
    return {.leases = {{trial, holder, now_ms + lease_ms, former.given + 1}}};
  }
  check_room(study);
  // Trials that failed take no place of the budget, and yet there is an end to them.
  if (static_cast<int64_t>(study.ledger.history().trials().size()) >= 2 * kStudyTrialsMax) return {};
  const auto asked = study.ledger.ask();
  if (!asked) return {};
  return {.lines = {asked->line}, .leases = {{asked->trial, holder, now_ms + lease_ms}}, .asked = 1};
}

json ask_answer(const OpenStudy& study, const std::string& holder, int64_t now_ms) {
  const StudyLease* const lease = lease_of(study, holder);
  if (lease == nullptr) {
    int64_t next_ms = kAskAgainMaxMs;
    for (const auto& [trial, other] : study.leases) next_ms = std::min(next_ms, other.until_ms - now_ms);
    const double seconds = static_cast<double>(std::max(next_ms, kAskAgainMs)) / 1000;
    return {{"trial", nullptr}, {"done", study.leases.empty()}, {"seconds", study.leases.empty() ? 0 : seconds}};
  }
  const tune::Trial& trial = trial_of(study, lease->trial);
  return {{"trial", trial.number},
          {"point", tune::to_json(study.ledger.history().space(), trial.point)},
          {"from", trial.parent != 0 ? json(trial.parent) : json()},  // whose state it goes on from
          {"lease", lease->holder},
          {"seconds", static_cast<double>(lease->until_ms - now_ms) / 1000},
          {"given", lease->given},
          {"step", trial.curve.empty() ? json() : json(trial.curve.back().first)}};
}

StudyStep renew_step(const OpenStudy& study, int64_t trial, const std::string& holder, int64_t lease_ms,
                     int64_t now_ms) {
  check_asked_by_programs(study);
  StudyLease lease = lease_of(study, trial, holder);
  lease.until_ms = now_ms + lease_ms;
  return {.leases = {lease}};
}

StudyStep report_step(const OpenStudy& study, int64_t trial, const std::string& holder, int64_t step, double value,
                      int64_t lease_ms, int64_t now_ms) {
  StudyStep change = renew_step(study, trial, holder, lease_ms, now_ms);
  check_room(study);
  const auto& curve = trial_of(study, trial).curve;
  if (curve.empty() || step > curve.back().first) change.lines = {study.ledger.report(trial, step, value)};
  return change;
}

StudyStep tell_step(const OpenStudy& study, const Told& told, const std::string& holder) {
  check_asked_by_programs(study);
  trial_of(study, told.trial);
  if (study.ledger.told_so(told.trial, told.state, told.values)) return {};
  lease_of(study, told.trial, holder);
  return {.lines = {study.ledger.tell(told.trial, told.state, told.values, told.reason, told.cost)},
          .free = {told.trial}};
}

json trial_words(const OpenStudy& study, const tune::Trial& trial) {
  const tune::History& history = study.ledger.history();
  json curve = json::array();
  for (const auto& [step, loss] : trial.curve)
    curve.push_back({step, http::number_json(tune::loss_of(history.directions()[0], loss))});
  const study::Ledger::Times times = study.ledger.times_of(trial.number);
  const auto lease = study.leases.find(trial.number);
  return {{"trial", trial.number},
          {"from", trial.parent != 0 ? json(trial.parent) : json()},
          {"state", study::to_string(trial.state)},
          {"point", tune::to_json(history.space(), trial.point)},
          {"values", values_words(trial.values)},
          {"reason", trial.reason},
          {"curve", curve},
          {"asked_ms", static_cast<int64_t>(times.asked * 1000)},
          {"told_ms", static_cast<int64_t>(times.told * 1000)},
          {"cost", std::isnan(trial.cost) ? json() : json(trial.cost)},
          {"given", lease == study.leases.end() ? json() : json(lease->second.given)}};
}

}  // namespace linac::service
