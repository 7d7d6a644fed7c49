#include "linac/control/study/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/signals.h"
#include "linac/base/job/job.h"
#include "linac/control/study/conduct.h"
#include "linac/control/study/trial_process.h"
#include "linac/control/study/trials_use.h"
#include "linac/io/storage/folder/local_claim.h"

namespace linac::study {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr auto kStopWait = std::chrono::minutes(5);  // for checkpoints, before a trial that was asked to stop is killed
constexpr auto kEnergyEvery = std::chrono::seconds(1);
constexpr auto kLook = std::chrono::seconds(2);  // whether another one has taken the study over
using Clock = std::chrono::steady_clock;

struct Going {
  TrialProcess process;
  int64_t attempts = 1;
  std::string pruned{};  // why it was asked to stop
  std::optional<Clock::time_point> kill_at{};
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Runner {
 public:
  Runner(Journal& journal, const RunnerOptions& options)
      : journal_(journal),
        options_(options),
        claim_(journal.folder(), options.take_over, "", storage::LocalClaim::kNoThread) {
    if (settings().limits.any()) use_.emplace(journal.study(), journal.folder() / "spent.json");
  }
  ~Runner() {
    for (const Going& one : going_) one.process.kill();
  }

  RunEnd run() {
    journal_.refresh();  // what another runner told before its study was claimed here
    for (const tune::Trial& trial :
         std::vector<tune::Trial>(journal_.history().trials().begin(), journal_.history().trials().end()))
      if (trial.state == tune::State::kRunning) waiting_.push_back(trial.number);
    if (use_)
      for (const tune::Trial& trial : journal_.history().trials()) look_at(trial.number);
    while (true) {
      if (use_) count();
      if (!used_up_.empty()) stop_all();
      if (stop_signal() != 0 || (Clock::now() >= look_at_ && is_taken_over())) stop_all();
      if (!stopping_) begin_trials();
      if (going_.empty()) {
        claim_.check();
        if (use_) use_->save();
        if (!used_up_.empty() && !all_told()) return RunEnd::kLimit;
        return stopping_ && used_up_.empty() ? RunEnd::kStopped : RunEnd::kDone;
      }
      std::this_thread::sleep_for(kPause);
      for (size_t i = 0; i < going_.size();) {
        hear(going_[i]);
        const auto status = going_[i].process.ended();
        if (!status) {
          if (going_[i].kill_at && Clock::now() > *going_[i].kill_at) going_[i].process.kill();
          ++i;
          continue;
        }
        Going one = std::move(going_[i]);
        going_.erase(going_.begin() + static_cast<long>(i));
        hear(one);
        end(std::move(one), *status);
      }
    }
  }

 private:
  /// What the trials that run have used since it was asked before.
  void count() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - std::exchange(counted_at_, now)).count();
    use_->count(seconds, static_cast<int>(going_.size()));
    for (const Going& one : going_) use_->steps(one.process.number(), one.process.steps());
    if (use_->wants_energy() && now - energy_at_ >= kEnergyEvery) {
      energy_at_ = now;
      for (const Going& one : going_)
        use_->energy(one.process.number(), told_energies(folder_of(one.process.number())));
    }
    if (used_up_.empty()) used_up_ = use_->used_up();
    if (const auto warning = use_->warning()) options_.tell(*warning);
    if (!used_up_.empty() && !stopping_) options_.tell(used_up_ + " is used up");
  }

  /// What a trial has used of which no process runs.
  void look_at(int64_t number) {
    TrialRecord record(journal_.study(), folder_of(number));
    if (use_->wants_steps()) {
      record.measured();
      use_->steps(number, record.steps());
    }
    if (use_->wants_energy()) use_->energy(number, record.told_energies());
  }
  std::filesystem::path folder_of(int64_t number) const {
    return std::filesystem::weakly_canonical(trial_folder(trials(), number));
  }
  std::filesystem::path trials() const { return journal_.folder() / "trials"; }
  bool all_told() const {
    return waiting_.empty() && static_cast<int64_t>(journal_.history().told().size()) >= settings().budget.trials;
  }

  const StudySettings& settings() const { return journal_.study().settings; }
  const tune::Space& space() const { return journal_.history().space(); }
  const tune::Trial& trial(int64_t number) const { return *journal_.history().find(number); }

  bool is_taken_over() {
    look_at_ = Clock::now() + kLook;
    try {
      claim_.check();
      return false;
    } catch (const Error&) {
      return true;
    }
  }

  void begin_trials() {
    while (static_cast<int>(going_.size()) < settings().parallel) {
      std::optional<int64_t> number;
      const bool goes_on = !waiting_.empty();
      if (goes_on)
        number = waiting_.front();
      else if (!is_taken_over() && !time_is_over(journal_.ledger(), now_s()))
        number = journal_.ask();  // a trial that the other one does not know would be nobody's
      if (!number) return;
      going_.push_back({.process = start(*number)});
      if (goes_on) waiting_.erase(waiting_.begin());
      const int64_t parent = trial(*number).parent;
      options_.tell(fmt::format("trial {}{}{}: {}", *number, goes_on ? " goes on" : "",
                                parent != 0 ? fmt::format(" from the state of trial {}", parent) : "",
                                fmt::join(settings_of(space(), trial(*number).point), " ")));
    }
  }

  TrialProcess start(int64_t number) { return {journal_.study(), space(), trial(number), trials(), options_.program}; }

  /// What it has measured since, and whether the pruner gives it up.
  void hear(Going& one) {
    const int64_t number = one.process.number();
    for (const Measured& measured : one.process.measured()) {
      if (!is_news(trial(number), measured)) continue;
      const tune::Verdict verdict = journal_.report(number, measured.step, measured.value);
      if (!verdict.stop || !one.pruned.empty() || stopping_) continue;
      one.pruned = verdict.reason;
      ask_to_stop(one);
    }
  }

  static void ask_to_stop(Going& one) {
    one.process.stop();
    one.kill_at = Clock::now() + kStopWait;
  }

  void stop_all() {
    if (stopping_) return;
    stopping_ = true;
    if (!going_.empty()) options_.tell(fmt::format("stopping: {} write a checkpoint", going_.size()));
    for (Going& one : going_)
      if (!one.kill_at) ask_to_stop(one);
  }

  void end(Going one, int status) {
    const int64_t number = one.process.number();
    if (is_taken_over()) return;  // the other one carries it out, and tells
    if (use_) look_at(number);
    if (status == 0) return complete(one);
    if (!one.pruned.empty()) return tell(one, tune::State::kPruned, {}, one.pruned);
    if (stopping_) return;  // it goes on with the next call
    const std::string why = fmt::format("exit status {}: {}", status, one.process.last_words());
    const Mishap mishap = mishap_of(status);
    if (mishap != Mishap::kLost || one.attempts >= settings().budget.attempts) {
      const auto end = end_badly(journal_.ledger(), mishap, why);
      if (!end)
        throw Error(static_cast<ErrorCode>(status),
                    fmt::format("[study] trial {} cannot run: {} (its log: {})", number, one.process.last_words(),
                                (one.process.folder() / "log").string()));
      return tell(one, end->state, end->values, end->reason);
    }
    options_.tell(fmt::format("trial {} was lost ({}) and goes on", number, why));
    going_.push_back({.process = start(number), .attempts = one.attempts + 1});
  }

  void complete(const Going& one) {
    const int64_t number = one.process.number();
    if (!journal_.study().command().empty()) {
      std::string why;
      const std::vector<double> values = one.process.values_of_command(why);
      if (!why.empty()) return tell(one, tune::State::kInfeasible, {}, why);
      return tell(one, tune::State::kComplete, values, "");
    }
    std::vector<double> values;
    if (journal_.history().objectives() > 1) values = one.process.values_of_epoch();
    const TrialEnd end = end_well(journal_.ledger(), number, std::move(values));
    tell(one, end.state, end.values, end.reason);
  }

  void tell(const Going& one, tune::State state, const std::vector<double>& values, const std::string& reason) {
    const int64_t number = one.process.number();
    journal_.tell(number, state, values, reason, one.process.cost());
    const tune::Trial& found = trial(number);
    std::string line = fmt::format("trial {} {}", number, to_string(found.state));
    if (!values.empty()) line += fmt::format(": {}", fmt::join(values, ", "));
    if (!found.reason.empty()) line += ": " + found.reason;
    options_.tell(line + standing_of(number));
  }

  /// Where a trial stands beside the others.
  std::string standing_of(int64_t number) const {
    const std::vector<const tune::Trial*> front = journal_.history().front();
    if (front.empty()) return "";
    const bool among = std::any_of(front.begin(), front.end(), [&](const auto* one) { return one->number == number; });
    if (journal_.history().objectives() > 1)
      return fmt::format("{} front of {}", among ? ", on the" : " (behind the", front.size()) + (among ? "" : ")");
    if (among) return ", the best so far";
    return fmt::format(" (best: {} of trial {})", front[0]->values[0], front[0]->number);
  }

  Journal& journal_;
  const RunnerOptions& options_;
  storage::LocalClaim claim_;
  Clock::time_point look_at_{};
  std::vector<Going> going_;
  std::vector<int64_t> waiting_;  // trials that ran when a former runner was lost
  bool stopping_ = false;
  std::optional<TrialsUse> use_;  // of a study with limits
  Clock::time_point counted_at_ = Clock::now(), energy_at_{};
  std::string used_up_;  // of the limits
};

}  // namespace

RunEnd run(Journal& journal, const RunnerOptions& options) {
  Runner runner(journal, options);
  if (!journal.study().job.empty()) write_file_atomically(journal.folder() / "job.yaml", journal.study().job);
  return runner.run();
}

double value_of(const tune::Trial& trial, tune::Direction direction) {
  if (!trial.values.empty()) return trial.values[0];
  if (trial.curve.empty()) return std::numeric_limits<double>::quiet_NaN();
  return tune::loss_of(direction, trial.curve.back().second);
}

}  // namespace linac::study
