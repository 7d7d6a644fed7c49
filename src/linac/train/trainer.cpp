#include "linac/train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/signals.h"
#include "linac/data/batch_stream.h"
#include "linac/train/adversarial.h"
#include "linac/train/agreement.h"
#include "linac/train/checkpoint.h"
#include "linac/train/input.h"
#include "linac/train/quick_figures.h"
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
        model_(job.model.latent, job.model.power, numerics_of(job)),
        train_(open_dataset(job, job.data.train)),
        test_(job.data.test.empty() ? nullptr : open_dataset(job, job.data.test)),
        steps_per_epoch_(steps_per_epoch(job, *train_)),
        step_(job_, model_, group, options.concurrency, clock_),
        state_(initial_state(job, model_)) {
    need_model_shape(job, *train_);
    if (test_) need_model_shape(job, *test_);
  }

  void run() {
    agree_on_numerics(group_, job_, *train_);
    if (writer()) prepare_folder();
    state_bytes_ = writer() ? encode(state_, {}) : "";
    share_state();
    good_ = state_bytes_;
    open_stream();
    last_save_ = Clock::now();
    while (state_.epoch < job_.train.epochs && !limit_reached()) {
      while (state_.step < steps_per_epoch_ && !limit_reached()) {
        if (!one_step()) continue;
        after_step();
      }
      if (state_.step >= steps_per_epoch_) end_epoch();
    }
    if (writer()) {
      // A run cut short by max_steps ends between two checkpoints.
      if (saved_step_ != state_.global_step) save();
      reporter_->finish(state_, clock_, group_time());
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
        state_ = initial_state(job_, model_);
      }
    }
    folder_->cut_metrics(state_.global_step, state_.epoch);
    reporter_.emplace(job_, *folder_, *train_, test_.get(), steps_per_epoch_, group_.size(), options_.concurrency,
                      state_);
  }

  void share_state() {
    const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
    broadcast_bytes(group_, state_bytes_);
    if (!writer()) decode(state_bytes_, "state of rank 0", state_);
  }

  void open_stream() {
    // After a rollback another order of events, too, leads away from the collapse.
    stream_.emplace(train_,
                    data::BatchStream::Options{.seed = job_.train.seed + static_cast<uint64_t>(state_.rollbacks),
                                               .batch = job_.train.batch,
                                               .replicas = job_.train.replicas,
                                               .owned = step_.owned(),
                                               .steps_per_epoch = steps_per_epoch_,
                                               .depth = job_.data.prefetch},
                    data::Position{static_cast<uint32_t>(state_.epoch), static_cast<uint32_t>(state_.step)});
  }

  // False if the step led to a rollback.
  bool one_step() {
    data::BatchStream::Step input;
    {
      const PhaseClock::Scope time(clock_, TimePhase::kInput);
      input = stream_->next();
    }
    const double rate = learning_rate(job_.train, state_.epoch, state_.step, steps_per_epoch_, state_.rollbacks);
    const StepResult result = step_.run(state_, input.replicas, rate, stop_signal() != 0);
    if (result.health != Health::kGood) {
      collapse(result);
      return false;
    }
    for (const auto& [phase, parts] : result.losses) {
      Parts& sums = state_.epoch_sums[phase];
      for (size_t i = 0; i < parts.size(); ++i) sums[i] += parts[i];
    }
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
    EpochRecord record{state_.epoch, state_.epoch_sums, {}};
    for (auto& [phase, parts] : record.train) {
      for (double& value : parts) value /= static_cast<double>(steps_per_epoch_);
    }
    std::optional<TestResult> tested;
    if (test_) {
      if (writer()) reporter_->announce_test(state_);
      const bool due = job_.validate.every_epochs > 0 && (state_.epoch + 1) % job_.validate.every_epochs == 0;
      tested = step_.test(state_, *test_, due ? Figures::kWanted : Figures::kNone);
      record.test = tested->losses;
      record.physics = tested->physics;
    }
    state_.history.push_back(record);
    state_.epoch_sums.clear();
    ++state_.epoch;
    state_.step = 0;
    const double value = judged_value(record);
    const bool best = std::isfinite(value) && (state_.best_epoch < 0 || value < state_.best_value);
    if (best) {
      state_.best_value = value;
      state_.best_epoch = record.epoch;
    }
    keep_good();
    if (!writer()) return;
    const bool due = job_.checkpoint.every_epochs > 0 && state_.epoch % job_.checkpoint.every_epochs == 0;
    if (due || best || state_.epoch == job_.train.epochs) save(best);
    const PhaseClock::Scope time(clock_, TimePhase::kReport);
    reporter_->epoch(state_, record, tested ? &*tested : nullptr);
  }

  // What checkpoint.best_by names.
  double judged_value(const EpochRecord& record) const {
    if (job_.checkpoint.best_by != "loss") {
      const auto figure = record.physics.find(job_.checkpoint.best_by);
      return figure == record.physics.end() ? std::numeric_limits<double>::quiet_NaN() : figure->second;
    }
    return (record.test.empty() ? record.train : record.test).at("g")[models::threedgan::kTotal];
  }

  void save(bool best = false) {
    const PhaseClock::Scope time(clock_, TimePhase::kCheckpoint);
    const std::string bytes = encode(state_, reporter_->provenance());
    store_->save(state_.global_step, bytes);
    if (best) store_->mark_best(bytes);
    saved_step_ = state_.global_step;
    last_save_ = Clock::now();
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
    open_stream();
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
  const models::threedgan::ThreeDGan model_;
  const std::shared_ptr<const data::Dataset> train_, test_;
  const int64_t steps_per_epoch_;
  AdversarialStep step_;
  TrainState state_;
  std::string state_bytes_;
  std::string good_;  // encoded state that a rollback returns to
  std::optional<data::BatchStream> stream_;
  std::optional<RunFolder> folder_;
  std::optional<CheckpointStore> store_;
  std::optional<Reporter> reporter_;
  Clock::time_point last_save_;
  int64_t saved_step_ = -1;
  bool stop_requested_ = false;
};

}  // namespace

models::Numerics numerics_of(const spec::Job& job) {
  return models::numerics_of(job.train.kernels, job.train.precision, job.train.device);
}

void check_job(const spec::Job& job) {
  models::need_device(numerics_of(job).device);
  const auto train = open_dataset(job, job.data.train);
  need_model_shape(job, *train);
  steps_per_epoch(job, *train);
  if (!job.data.test.empty()) need_model_shape(job, *open_dataset(job, job.data.test));
  Optimizer(job.train.optimizer, 1);
  need_known_figure(job.checkpoint.best_by);
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
