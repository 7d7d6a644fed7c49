#include "linac/train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/signals.h"
#include "linac/comm/group.h"
#include "linac/train/agreement.h"
#include "linac/train/checkpoint.h"
#include "linac/train/input.h"
#include "linac/train/loop.h"
#include "linac/train/monitor.h"
#include "linac/train/reporter.h"
#include "linac/train/schedule.h"

namespace linac::train {
namespace {

using Clock = std::chrono::steady_clock;

class Trainer {
 public:
  Trainer(const spec::Job& job, comm::Group& group, const RunOptions& options)
      : job_(job),
        group_(group),
        options_(options),
        loop_(make_loop(job_, group, options.concurrency, clock_)),
        steps_per_epoch_(steps_per_epoch(job, loop_->train_events())),
        state_(loop_->initial_state()) {}

  void run() {
    agree_on_numerics(group_, job_, loop_->data());
    if (writer()) prepare_folder();
    state_bytes_ = writer() ? encode(state_, {}) : "";
    share_state();
    good_ = state_bytes_;
    loop_->seek(state_);
    last_save_ = Clock::now();
    while (!finished() && !limit_reached()) {
      while (state_.step < steps_per_epoch_ && !limit_reached()) {
        if (!one_step()) continue;
        after_step();
      }
      if (state_.step >= steps_per_epoch_) end_epoch();
    }
    if (writer()) {
      // A run cut short by max_steps ends between two checkpoints.
      if (saved_step_ != state_.global_step) save();
      reporter_->finish(state_, final_state(), group_time());
    } else {
      group_time();
    }
  }

  /// Rank 0: what the folder should say about a run that did not reach its end.
  void record_failure(const Error& error) {
    if (reporter_) reporter_->failed(state_, clock_, error);
  }

 private:
  bool writer() const { return group_.rank() == 0; }
  bool finished() const {
    return state_.epoch >= job_.train.epochs ||
           stopped_early(job_.train.early_stopping, state_.history, loop_->loss_name());
  }
  bool limit_reached() const { return job_.train.max_steps > 0 && state_.global_step >= job_.train.max_steps; }

  void prepare_folder() {
    folder_.emplace(options_.folder);
    store_.emplace(folder_->checkpoints(), job_.checkpoint.keep);
    if (options_.start == Start::kResume) {
      const auto loaded = store_->newest_good(
          [&](const CheckpointStore::Loaded& candidate) { decode(candidate.bytes, candidate.path.string(), state_); });
      if (loaded) {
        saved_step_ = state_.global_step;
        log::info(
            fmt::format("resuming from {}: epoch {}, step {}", loaded->path.string(), state_.epoch + 1, state_.step));
      } else {
        log::info("nothing to resume from: starting at the first step");
        state_ = loop_->initial_state();
      }
    }
    folder_->cut_metrics(state_.global_step, state_.epoch);
    reporter_.emplace(job_, *folder_, *loop_, steps_per_epoch_, group_.size(), options_.concurrency, state_);
  }

  void share_state() {
    const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
    broadcast_bytes(group_, state_bytes_);
    if (!writer()) decode(state_bytes_, "state of rank 0", state_);
  }

  // False if the step led to a rollback.
  bool one_step() {
    const double rate = learning_rate(job_.train, state_.epoch, state_.step, steps_per_epoch_, state_.rollbacks) *
                        plateau_factor(job_.train.schedule.plateau, state_.history, loop_->loss_name());
    const StepResult result = loop_->step(state_, rate, stop_signal() != 0);
    if (result.health != Health::kGood) {
      collapse(result);
      return false;
    }
    for (const auto& [name, value] : result.losses) state_.epoch_sums[name] += value;
    ++state_.step;
    ++state_.global_step;
    stop_requested_ = result.stop_requested;
    if (writer()) {
      const PhaseClock::Scope time(clock_, TimePhase::kReport);
      reporter_->step(state_, result.losses, rate);
    }
    return true;
  }

  void after_step() {
    if (stop_requested_) {
      if (writer()) save();
      group_.barrier();
      throw Error(ErrorCode::kPreempted,
                  fmt::format("[train] stopped by a signal after step {} (checkpoint saved); go on with: linac train "
                              "... --out {} --resume",
                              state_.global_step, options_.folder.string()));
    }
    const bool by_steps = job_.checkpoint.every_steps > 0 && state_.global_step % job_.checkpoint.every_steps == 0;
    const double minutes = std::chrono::duration<double>(Clock::now() - last_save_).count() / 60;
    const bool by_time = job_.checkpoint.every_minutes > 0 && minutes >= job_.checkpoint.every_minutes;
    if (by_steps) keep_good();
    if (writer() && (by_steps || by_time)) save();
  }

  void end_epoch() {
    EpochRecord record{.epoch = state_.epoch, .train = state_.epoch_sums, .test = {}};
    for (auto& [name, value] : record.train) value /= static_cast<double>(steps_per_epoch_);
    std::optional<TestResult> tested;
    if (loop_->test_events() > 0) {
      if (writer()) reporter_->announce_test(state_);
      const bool due = job_.validate.every_epochs > 0 && (state_.epoch + 1) % job_.validate.every_epochs == 0;
      tested = loop_->test(state_, due ? Figures::kWanted : Figures::kNone);
      record.test = tested->losses;
      record.physics = tested->physics;
    }
    state_.history.push_back(record);
    state_.epoch_sums.clear();
    ++state_.epoch;
    state_.step = 0;
    const double value = monitored(record, job_.checkpoint.best_by, loop_->loss_name());
    const bool best =
        std::isfinite(value) && (state_.best_epoch < 0 || better(job_.checkpoint.best_by, value, state_.best_value));
    if (best) {
      state_.best_value = value;
      state_.best_epoch = record.epoch;
    }
    keep_good();
    if (!writer()) return;
    const bool due = job_.checkpoint.every_epochs > 0 && state_.epoch % job_.checkpoint.every_epochs == 0;
    if (due || best || finished()) save(best);
    const PhaseClock::Scope time(clock_, TimePhase::kReport);
    reporter_->epoch(state_, record, tested ? tested->signs_of_collapse : std::vector<std::string>{});
  }

  void save(bool best = false) {
    const PhaseClock::Scope time(clock_, TimePhase::kCheckpoint);
    const std::string bytes = encode(state_, reporter_->provenance());
    store_->save(state_.global_step, bytes);
    if (best) store_->mark_best(bytes);
    saved_step_ = state_.global_step;
    last_save_ = Clock::now();
  }

  // What is handed over: the best epoch's networks if the job wants them, else the last ones.
  TrainState final_state() {
    TrainState last = state_;
    if (job_.train.early_stopping.restore_best && state_.best_epoch >= 0)
      decode(read_file(store_->best()), store_->best().string(), last);
    return last;
  }

  // Every worker keeps the state a rollback returns to, at moments that do not depend on clocks.
  void keep_good() {
    if (job_.train.collapse.action == "rollback") good_ = encode(state_, {});
  }

  void collapse(const StepResult& result) {
    const std::string what =
        result.health == Health::kEmpty ? "every generated image is empty" : "a loss or gradient is not finite";
    const std::string where = fmt::format("epoch {}, step {}, {}", state_.epoch + 1, state_.step + 1, result.where);
    const bool again = job_.train.collapse.action == "rollback" && state_.rollbacks < job_.train.collapse.rollbacks;
    if (!again) {
      throw Error(ErrorCode::kNumeric,
                  fmt::format("[train] the training collapsed: {} ({}); the checkpoints hold the state before. Lower "
                              "train.optimizer.lr, set "
                              "train.optimizer.global_clipnorm, or try train.collapse.action=rollback",
                              what, where));
    }
    const int rollbacks = state_.rollbacks + 1;
    decode(good_, "state kept for a rollback", state_);
    state_.rollbacks = rollbacks;
    if (writer()) {
      log::warn(fmt::format(
          "collapse: {} ({}); back to epoch {}, step {} with other random numbers and the learning rate x {}", what,
          where, state_.epoch + 1, state_.step, job_.train.collapse.lr_factor));
      folder_->cut_metrics(state_.global_step, state_.epoch);
      reporter_->rolled_back(state_, what, where);
    }
    loop_->seek(state_);
  }

  // Rank 0: the phase clocks of all workers.
  std::vector<nlohmann::json> group_time() {
    std::vector<nlohmann::json> all;
    for (const std::string& text : group_.gather_text(to_json(clock_, group_.traffic()).dump()))
      all.push_back(nlohmann::json::parse(text));
    return all;
  }

  const spec::Job job_;
  comm::Group& group_;
  const RunOptions options_;
  PhaseClock clock_;
  const std::unique_ptr<Loop> loop_;
  const int64_t steps_per_epoch_;
  TrainState state_;
  std::string state_bytes_;
  std::string good_;  // encoded state that a rollback returns to
  std::optional<RunFolder> folder_;
  std::optional<CheckpointStore> store_;
  std::optional<Reporter> reporter_;
  Clock::time_point last_save_;
  int64_t saved_step_ = -1;
  bool stop_requested_ = false;
};

}  // namespace

void check_job(const spec::Job& job) {
  models::need_device(numerics_of(job).device);
  const auto group = comm::make_group({}, std::chrono::seconds(1));
  PhaseClock clock;
  steps_per_epoch(job, make_loop(job, *group, 1, clock)->train_events());
}

void run_training(const spec::Job& job, comm::Group& group, const RunOptions& options) {
  Trainer trainer(job, group, options);
  try {
    trainer.run();
  } catch (const Error& error) {
    trainer.record_failure(error);
    throw;
  }
}

}  // namespace linac::train
