#include "linac/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/plural.h"
#include "linac/base/signals.h"
#include "linac/comm/group.h"
#include "linac/train/agreement.h"
#include "linac/train/checkpoint.h"
#include "linac/train/input.h"
#include "linac/train/loop.h"
#include "linac/train/monitor.h"
#include "linac/train/record_copy.h"
#include "linac/train/reporter.h"
#include "linac/train/schedule.h"
#include "linac/trained/checkpoint_files.h"

namespace linac::train {
namespace {

using Clock = std::chrono::steady_clock;

comm::Moment moment_of(const TrainState& state) {
  return {.rollbacks = state.rollbacks, .steps = state.global_step, .epochs = state.epoch};
}

// What a member is lost for, or the view left: not the end, but the next view.
Error left(const std::string& why) {
  return {ErrorCode::kPeerLost, why};
}

class Trainer {
 public:
  Trainer(const spec::Job& job, comm::Group& group, const TrainingOptions& options,
          std::shared_ptr<const trained::KerasFile> read)
      : job_(job), group_(group), options_(options), read_(std::move(read)) {
    clock_.on_change([this](const char* phase) { group_.mark(phase); });
  }

  void run() {
    loop_ = make_loop(job_, group_, options_.concurrency, clock_, read_.get());
    read_.reset();
    agreed_ = what_must_agree(job_, loop_->data());
    steps_per_epoch_ = steps_per_epoch(job_, loop_->train_events());
    state_ = loop_->initial_state();
    bool here = options_.joins ? group_.next_view("") : true;
    while (here) {
      try {
        enter_view();
        train();
        close_record();
        return;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kPeerLost) throw;
        if (std::exchange(under_way_, false)) std::swap(state_, before_);
        left_at_ = Clock::now();
        left_because_ = error.what();
        here = group_.next_view(error.what());
      }
    }
    complete_elsewhere();
  }

  /// Who keeps the record: what the folder should say about a run that did not reach its end.
  void record_failure(const Error& error) {
    if (reporter_ && !leaves_) reporter_->failed(state_, clock_, group_, error);
  }

  /// Whether this worker has taken part: what fails before concerns a newcomer alone.
  bool took_part() const { return took_part_ || !options_.joins; }
  /// Whether it was asked to leave, and the others go on.
  bool leaves() const { return leaves_; }

 private:
  // Rank 0 tells people how the run goes; who keeps the record writes it, see record_copy.h.
  bool tells() const { return group_.rank() == 0; }
  bool finished() const {
    return state_.epoch >= job_.train.epochs ||
           stopped_early(job_.train.early_stopping, state_.history, loop_->loss_name());
  }
  bool limit_reached() const { return job_.train.max_steps > 0 && state_.global_step >= job_.train.max_steps; }

  // Others say that the run is complete. What this worker has not reached itself is no success of its own.
  void complete_elsewhere() const {
    const bool reached = finished() || limit_reached();
    const bool written = !reporter_ || record_closed_;
    if (took_part() && !(reached && written))
      throw Error(
          ErrorCode::kPeerLost,
          fmt::format("[train] the run was ended by another worker as complete, and this one stands at epoch {} "
                      "of {}, step {}: look into the run's folder, and go on with --resume if it has no end",
                      std::min<int64_t>(state_.epoch + 1, job_.train.epochs), job_.train.epochs, state_.step));
    log::info(took_part() ? "the run is complete" : "the run was complete before this worker had a part in it");
  }

  // --- views --------------------------------------------------------------------------------------------------------

  // From here on all members stand at the same moment with the same bits.
  void enter_view() {
    const comm::View& view = group_.view();
    const int source = view.source();
    const bool founding = view.members[static_cast<size_t>(source)].moment == comm::Moment{};
    // Who others were ahead of has not written what they have finished.
    const bool behind =
        view.members[static_cast<size_t>(group_.rank())].moment != view.members[static_cast<size_t>(source)].moment;
    keeps_record_ = train::keeps_record(view, group_.rank());
    if (!keeps_record_ || behind) reporter_.reset();
    written_.reset();
    bool copied = false;
    if (founding || view.needs_state()) {
      check_agreement(founding);
      share_state(founding ? find_start() : source);
      if (reporter_) reporter_->flush();
      copied = copy_records(group_, RunFolder(options_.folder), holds());
    }
    if (keeps_record_ && !reporter_) take_over_record(founding, copied);
    if (reporter_) reporter_->speak(tells());
    if (!group_.commit(moment_of(state_))) throw left("the view was left before it began");
    took_part_ = true;
    loop_->seek(state_);
    if (reporter_)
      reporter_->view(group_.view(), state_.global_step, std::exchange(left_because_, ""), without_view_s());
  }

  double without_view_s() const { return std::chrono::duration<double>(Clock::now() - left_at_).count(); }

  void check_agreement(bool founding) {
    const auto found = find_disagreement(group_, agreed_);
    if (!found) return;
    if (founding || found->rank == group_.rank()) throw user_error(found->text);
    throw left(found->text);
  }

  void share_state(int source) {
    const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
    const bool mine = group_.rank() == source;
    std::string bytes = mine ? encode(state_, {}) : "";
    broadcast_bytes(group_, bytes, source);
    if (!mine) decode(bytes, "state of another worker", state_);
    if (keeps_good()) {
      if (good_.empty()) good_ = bytes;
      broadcast_bytes(group_, good_, source);
    }
    std::string last = last_step_ ? last_step_->encoded() : "";
    broadcast_bytes(group_, last, source);
    last_step_ = last.empty() ? std::nullopt : std::optional(StepRecord::decoded(last));
  }

  // Before the first step: the rank whose folder says where a resumed run goes on. The latest of the states that the
  // folders hold, where workers do not share one.
  int find_start() {
    if (keeps_record_) open_own_folder();
    if (options_.start != Start::kResume) return 0;
    if (keeps_record_) load_newest();
    const nlohmann::json mine = keeps_record_ ? moment_of(state_) : comm::Moment{};
    std::vector<comm::Moment> moments;
    for (const std::string& one : group_.gather_text(mine.dump()))
      moments.push_back(nlohmann::json::parse(one).get<comm::Moment>());
    std::string latest = std::to_string(std::max_element(moments.begin(), moments.end()) - moments.begin());
    broadcast_bytes(group_, latest, 0);
    const int rank = std::stoi(latest);
    if (rank != group_.rank()) saved_step_ = -1;
    if (rank != 0 && tells()) log::info(fmt::format("the folder of rank {} holds the latest state", rank));
    return rank;
  }

  // A folder that rank 0 does not see was not looked at before.
  void open_own_folder() {
    if (!tells() && options_.start == Start::kFresh && RunFolder(options_.folder).holds_run()) {
      throw user_error(
          fmt::format("[train] {} on this host already holds a run; add --resume to go on with it or choose another "
                      "--out",
                      options_.folder.string()));
    }
    open_folder();
  }

  void load_newest() {
    const auto loaded = store_->newest_good(
        [&](const CheckpointStore::Loaded& candidate) { decode(candidate.bytes, candidate.path.string(), state_); });
    if (loaded) {
      const nlohmann::json notes = notes_of(loaded->bytes, loaded->path.string());
      need_same_classes(notes);
      tell_of_processor(notes);
      saved_step_ = state_.global_step;
      log::info(
          fmt::format("resuming from {}: epoch {}, step {}", loaded->path.string(), state_.epoch + 1, state_.step));
    } else {
      log::info("nothing to resume from: starting at the first step");
      state_ = loop_->initial_state();
    }
  }

  static void tell_of_processor(const nlohmann::json& notes) {
    if (notes.value("processor", processor_digest()) == processor_digest()) return;
    log::warn(
        "this processor computes other last bits than the one that wrote the checkpoint: the run goes on, and ends as "
        "it would have there but for rounding");
  }

  // The outputs of the checkpoint stand for certain texts of the files.
  void need_same_classes(const nlohmann::json& notes) const {
    const auto then = notes.value("classes", nlohmann::json::object());
    const auto now = loop_->notes().value("classes", nlohmann::json::object());
    if (then == now) return;
    throw data_error(
        fmt::format("[train] --resume: the classes of the run are {}, those of the files now {}; resume with the files "
                    "of the run, or start a new run with another --out",
                    then.dump(), now.dump()));
  }

  void open_folder() {
    folder_.emplace(options_.folder, options_.started_in);
    store_.emplace(folder_->checkpoints(), job_.checkpoint.keep);
  }

  // The last step and the last epoch are known without a record.
  bool is_at_epoch() const { return state_.step == 0 && !state_.history.empty(); }
  Holds holds() {
    if (!keeps_record_) return Holds::kNotItsTask;
    if (reporter_) return Holds::kAll;
    open_folder();
    written_ = folder_->cut_metrics(state_.global_step, state_.epoch);
    const RunFolder::Written written = *written_;
    const bool steps = std::max<int64_t>(0, written.step) >= state_.global_step - (last_step_ ? 1 : 0);
    const bool epochs =
        state_.history.empty() || written.epoch >= state_.history.back().epoch - (is_at_epoch() ? 1 : 0);
    return steps && epochs ? Holds::kAll : Holds::kPart;
  }

  // The first one that keeps it, or the next one after that was lost: the record goes on where the state stands. What
  // the last one did not come to write of its last step, this one knows. `copied`: the folder has no checkpoint yet.
  void take_over_record(bool founding, bool copied) {
    open_folder();
    if (!folder_->holds_run()) folder_->create(job_);
    if (!written_ || copied) written_ = folder_->cut_metrics(state_.global_step, state_.epoch);
    const RunFolder::Written written = *std::exchange(written_, std::nullopt);
    reporter_.emplace(job_, *folder_, *loop_, steps_per_epoch_, group_.size(), options_.concurrency, state_, tells());
    last_save_ = Clock::now();
    if (copied) save();
    if (founding) return;
    if (last_step_ && last_step_->global_step > written.step) reporter_->step(*last_step_);
    if (is_at_epoch() && state_.history.back().epoch > written.epoch) {
      reporter_->epoch(state_, state_.history.back(), {});
      save(state_.best_epoch == state_.history.back().epoch);
    }
  }

  // --- the training -------------------------------------------------------------------------------------------------

  void train() {
    while (!finished() && !limit_reached()) {
      while (state_.step < steps_per_epoch_ && !limit_reached()) {
        if (!one_step()) continue;
        after_step();
      }
      if (state_.step >= steps_per_epoch_) end_epoch();
    }
  }

  void close_record() {
    const auto times = group_time();
    if (keeps_record_ && !std::exchange(record_closed_, true)) {
      // A run cut short by max_steps ends between two checkpoints.
      if (saved_step_ != state_.global_step) save();
      reporter_->finish(state_, final_state(), times);
      if (tells()) tell_of_early_stop();
    }
    group_.barrier();  // should one that keeps the record be lost before, another one is needed
    group_.finish();
  }

  // Remembers where the worker stands: what follows counts only if the group stays together until it is done.
  void set_out() {
    if (group_.size() == 1) return;
    before_ = state_;
    under_way_ = true;
  }

  void arrive() {
    if (!group_.commit(moment_of(state_))) throw left("the view is being left");
    under_way_ = false;
  }

  // False if the step led to a rollback.
  bool one_step() {
    const double rate = learning_rate(job_.train, state_.epoch, state_.step, steps_per_epoch_, state_.rollbacks) *
                        plateau_factor(job_.train.schedule.plateau, state_.history, loop_->loss_name());
    set_out();
    const double begun = clock_[TimePhase::kCompute].wall;
    wish_ = wish_of(stop_signal());
    const StepResult result = loop_->step(state_, rate, wish_);
    if (result.health != Health::kGood) {
      collapse(result);
      return false;
    }
    for (const auto& [name, value] : result.losses) state_.epoch_sums[name] += value;
    ++state_.step;
    ++state_.global_step;
    arrive();
    give_account(clock_[TimePhase::kCompute].wall - begun);
    // Who leaves must leave enough others behind; else all stop.
    stop_requested_ =
        result.stop_requested || (result.leaving > 0 && group_.size() - result.leaving < job_.distribution.workers_min);
    some_leave_ = result.leaving > 0;
    next_view_wanted_ = result.next_view_wanted;
    last_step_ = {state_.epoch, state_.step, state_.global_step, loop_->reported(result.losses), rate};
    if (reporter_) {
      const PhaseClock::Scope time(clock_, TimePhase::kReport);
      reporter_->step(*last_step_);
      reporter_->workers(group_, state_.global_step);
    }
    return true;
  }

  StopWish wish_of(int signal) const {
    if (signal == 0) return StopWish::kNone;
    return signal == SIGTERM && job_.distribution.on_sigterm == "leave" ? StopWish::kLeave : StopWish::kStop;
  }

  // What this worker's times are. The pace is smoothed: a step may be slow by chance.
  void give_account(double computed_s) {
    const auto range = comm::replicas_of(group_.view(), group_.rank(), static_cast<int>(job_.train.replicas));
    if (range.end > range.begin) {
      const double now = computed_s / (range.end - range.begin);
      pace_s_ = pace_s_ == 0 ? now : 0.8 * pace_s_ + 0.2 * now;
    }
    group_.tell(pace_s_, spec::to_text(account_of(clock_, group_.traffic())));
  }

  void after_step() {
    if (stop_requested_) {
      if (reporter_) save();
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
    if (reporter_ && (by_steps || by_time)) save();
    if (next_view_wanted_ || some_leave_) group_.barrier();  // nobody is to be called away before it has arrived
    if (some_leave_ && wish_ == StopWish::kLeave) {
      leaves_ = true;
      throw Error(ErrorCode::kPreempted,
                  fmt::format("[train] left the run after step {}, as SIGTERM asks (distribution.on_sigterm = leave); "
                              "the others go on",
                              state_.global_step));
    }
    if (next_view_wanted_) throw left("a step is done, and the next view is due");
  }

  void end_epoch() {
    set_out();
    EpochRecord record{.epoch = state_.epoch, .train = state_.epoch_sums, .test = {}};
    for (auto& [name, value] : record.train)
      value /= static_cast<double>(loop_->steps_with(name, state_.epoch, steps_per_epoch_));
    record.train = loop_->reported(std::move(record.train));
    std::optional<TestResult> tested;
    if (loop_->test_events() > 0) {
      if (reporter_) reporter_->announce_test(state_);
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
    const spec::Better direction = direction_of(job_.checkpoint.best_by, job_.checkpoint.best_mode, loop_->loss_name());
    const bool best = std::isfinite(value) && (state_.best_epoch < 0 || better(direction, value, state_.best_value));
    if (best) {
      state_.best_value = value;
      state_.best_epoch = record.epoch;
    }
    arrive();
    keep_good();
    if (!reporter_) return;
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

  void tell_of_early_stop() const {
    const spec::EarlyStopping& settings = job_.train.early_stopping;
    if (!stopped_early(settings, state_.history, loop_->loss_name())) return;
    const bool restored = settings.restore_best && state_.best_epoch >= 0;
    log::info(
        fmt::format("stopped early after epoch {}: {} was no better in {}; the weights handed over are those of "
                    "epoch {}{}",
                    state_.epoch, settings.monitor, plural(settings.patience, "epoch"),
                    restored ? state_.best_epoch + 1 : state_.epoch,
                    restored ? fmt::format(", the best in {}", job_.checkpoint.best_by) : ", the last"));
  }

  bool keeps_good() const { return job_.train.collapse.action == "rollback"; }

  // Every worker keeps the state a rollback returns to, at moments that do not depend on clocks.
  void keep_good() {
    if (keeps_good()) good_ = encode(state_, {});
  }

  bool checkpoint_of_before() const {
    const std::filesystem::path folder = RunFolder(options_.folder).checkpoints();
    std::error_code error;
    return std::filesystem::is_directory(folder, error) && !trained::list_checkpoints(folder).empty();
  }

  static std::string after_rollbacks(int rollbacks) {
    return rollbacks == 0 ? "" : " again after " + plural(rollbacks, "rollback");
  }

  void collapse(const StepResult& result) {
    const std::string what =
        result.health == Health::kEmpty ? "every generated image is empty" : "a loss or gradient is not finite";
    const std::string where = fmt::format("epoch {}, step {}, {}", state_.epoch + 1, state_.step + 1, result.where);
    const bool again = job_.train.collapse.action == "rollback" && state_.rollbacks < job_.train.collapse.rollbacks;
    if (!again) {
      const bool kept = checkpoint_of_before();
      throw Error(
          ErrorCode::kNumeric,
          fmt::format("[train] the training collapsed{}: {} ({}); {}. Lower train.optimizer.lr{} set "
                      "train.optimizer.global_clipnorm{}",
                      after_rollbacks(state_.rollbacks), what, where,
                      kept ? "the checkpoints hold the state before" : "there is no checkpoint yet",
                      keeps_good() ? " or" : ",", keeps_good() ? "" : ", or try train.collapse.action=rollback"));
    }
    const int rollbacks = state_.rollbacks + 1;
    decode(good_, "state kept for a rollback", state_);
    state_.rollbacks = rollbacks;
    arrive();
    last_step_.reset();
    if (tells()) {
      log::warn(fmt::format(
          "collapse: {} ({}); back to epoch {}, step {} with other random numbers and the learning rate x {}", what,
          where, state_.epoch + 1, state_.step, job_.train.collapse.lr_factor));
    }
    if (reporter_) {
      folder_->cut_metrics(state_.global_step, state_.epoch);
      reporter_->rolled_back(state_, what, where);
    }
    loop_->seek(state_);
  }

  // The phase clocks of all workers.
  std::vector<spec::WorkerAccount> group_time() {
    const auto texts = group_.gather_text(spec::to_text(account_of(clock_, group_.traffic())));
    std::string carried = nlohmann::json(texts).dump();
    broadcast_bytes(group_, carried, 0);
    std::vector<spec::WorkerAccount> all;
    for (const auto& text : nlohmann::json::parse(carried)) all.push_back(spec::read_account(text.get<std::string>()));
    return all;
  }

  const spec::Job job_;
  comm::Group& group_;
  const TrainingOptions options_;
  std::shared_ptr<const trained::KerasFile> read_;  // until the loop is made
  PhaseClock clock_;
  std::unique_ptr<Loop> loop_;
  nlohmann::json agreed_;  // what_must_agree()
  int64_t steps_per_epoch_ = 0;
  TrainState state_;
  TrainState before_;  // where the worker stood, while it is under way
  std::string good_;   // encoded state that a rollback returns to
  std::optional<RunFolder> folder_;
  std::optional<CheckpointStore> store_;
  std::optional<Reporter> reporter_;           // of who keeps the record
  bool keeps_record_ = false;                  // in this view
  std::optional<RunFolder::Written> written_;  // what was found in the folder, before it is taken over
  std::optional<StepRecord> last_step_;
  Clock::time_point last_save_ = Clock::now();
  int64_t saved_step_ = -1;
  Clock::time_point left_at_ = Clock::now();
  std::string left_because_;         // the last view
  double pace_s_ = 0;                // wall seconds of computing a replica of a step
  StopWish wish_ = StopWish::kNone;  // in the last step
  bool under_way_ = false, stop_requested_ = false, some_leave_ = false, leaves_ = false, next_view_wanted_ = false,
       took_part_ = false, record_closed_ = false;
};

}  // namespace

void check_job(const spec::Job& job, const trained::KerasFile* read) {
  models::need_device(numerics_of(job).device);
  const auto group = comm::make_group({}, {});
  PhaseClock clock;
  steps_per_epoch(job, make_loop(job, *group, 1, clock, read)->train_events());
}

void run_training(const spec::Job& job, comm::Group& group, const TrainingOptions& options,
                  std::shared_ptr<const trained::KerasFile> read) {
  Trainer trainer(job, group, options, std::move(read));
  const auto fail = [&](const Error& error) {
    try {
      trainer.record_failure(error);
    } catch (const Error& another) {
      log::warn(another.what());  // the first one counts
    }
    // What any other worker would meet as well ends the run; a machine or a program that fails ends a worker.
    const bool own =
        error.code() == ErrorCode::kEnvironment || error.code() == ErrorCode::kInternal || trainer.leaves();
    group.fail_with(error, own || !trainer.took_part() ? comm::Reach::kThisWorker : comm::Reach::kRun);
  };
  try {
    trainer.run();
  } catch (const Error& error) {
    fail(error);
    throw;
  } catch (const std::exception& error) {
    fail({ErrorCode::kInternal, error.what()});
    throw;
  }
}

}  // namespace linac::train
