#include "linac/train/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/trace.h"
#include "linac/base/job/run_energy.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/audit/parting.h"
#include "linac/train/train/audit/right_state.h"
#include "linac/train/train/collapse.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/input/shared_reading.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/train/monitor.h"
#include "linac/train/train/record/account.h"
#include "linac/train/train/record/budget.h"
#include "linac/train/train/record/host_energy.h"
#include "linac/train/train/record/record_keeper.h"
#include "linac/train/train/record/run_trace.h"
#include "linac/train/train/state/same_state.h"
#include "linac/train/train/state/share_state.h"

namespace linac::train {
namespace {

using Clock = std::chrono::steady_clock;

// What a member is lost for, or the view left: not the end, but the next view.
Error left(const std::string& why) {
  return {ErrorCode::kPeerLost, why};
}

class Trainer {
 public:
  Trainer(const job::Job& job, comm::Group& group, const TrainingOptions& options,
          std::shared_ptr<const trained::KerasFile> read)
      : job_(job),
        group_(group),
        options_(options),
        read_(std::move(read)),
        energy_(options.computing.gpus, job::model_watts(job.budget, job.plan, job.workers)),
        trace_(options.trace) {
    trace::name_thread("training");
    clock_.on_change([this](const char* phase) { group_.mark(phase); });
  }

  void run() {
    loop_ = make_loop(job_, group_, options_.computing, clock_, read_.get());
    read_.reset();
    agreed_ = what_must_agree(job_, loop_.data->data());
    steps_per_epoch_ = steps_per_epoch(job_, loop_.data->train_events());
    record_.emplace(job_, group_, loop_, clock_, steps_per_epoch_,
                    RecordKeeper::Settings{.folder = options_.folder,
                                           .started_in = options_.started_in,
                                           .name = options_.name,
                                           .data_digests = data_digests(job_, loop_.data->data()),
                                           .accept_data = options_.accept_data,
                                           .concurrency = options_.computing.replicas_at_a_time,
                                           .claim = options_.claim});
    state_ = loop_.steps->initial_state();
    bool here = options_.joins ? group_.next_view("") : true;
    while (here) {
      try {
        enter_view();
        train();
        close_record();
        return;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kPeerLost) throw;
        if (std::exchange(half_changed_, false)) {
          std::swap(state_.networks, before_);
          std::swap(state_.exchange, exchange_before_);
        }
        left_at_ = Clock::now();
        left_because_ = error.what();
        here = group_.next_view(error.what());
      }
    }
    complete_elsewhere();
  }

  /// Who keeps the record: what the folder should say about a run that did not reach its end.
  void record_failure(const Error& error) {
    if (!record_ || leaves_) return;
    energy_.read();
    record_->failed(state_, account_of(clock_, group_.traffic(), energy_), error);
  }

  /// Whether this worker has taken part: what fails before concerns a newcomer alone.
  bool took_part() const { return took_part_ || !options_.joins; }
  /// Whether it was asked to leave, and the others go on.
  bool leaves() const { return leaves_; }

 private:
  // Rank 0 tells people how the run goes; who keeps the record writes it, see record_keeper.h.
  bool tells() const { return group_.rank() == 0; }
  bool finished() const {
    return state_.epoch >= job_.train.epochs ||
           stopped_early(job_.train.early_stopping, state_.history, loop_.words->loss_name());
  }
  bool limit_reached() const { return job_.train.max_steps > 0 && state_.global_step >= job_.train.max_steps; }

  // Others say that the run is complete. What this worker has not reached itself is no success of its own.
  void complete_elsewhere() const {
    const bool reached = finished() || limit_reached();
    if (took_part() && !(reached && record_->closed()))
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
    if (!job_.budget.any() || !tells())
      budget_.reset();
    else if (!budget_)
      budget_.emplace(job_.budget, options_.folder / "spent.json", [this] { return record_->measured_kwh(); });
    if (budget_) budget_->begin_view();
    const int source = view.source();
    const comm::Moment& latest = view.members[static_cast<size_t>(source)].moment;
    const bool founding = latest == comm::Moment{};
    const auto is_behind = [&](int rank) { return view.members[static_cast<size_t>(rank)].moment != latest; };
    if (founding || view.needs_state()) record_->share_claim(founding ? 0 : source);
    trace_.agree(group_, founding ? 0 : source);
    // Who others were ahead of has not written what they have finished.
    record_->enter_view(is_behind(group_.rank()));
    if (founding || view.needs_state()) {
      check_agreement(founding);
      std::vector<int> ranks{founding ? record_->find_start(options_.start, state_) : source};
      if (founding && budget_ && !budget_->look(state_.global_step).empty()) throw over_budget();
      for (int rank = 0; rank < view.size(); ++rank)
        if (rank != ranks.front() && (founding || is_behind(rank))) ranks.push_back(rank);
      bring_state(ranks, founding);
      record_->complete_folders(state_, last_steps_);
      if (founding && trace_.is_over(state_.global_step)) trace_.give_up(tells());
    }
    record_->take_over(founding, state_, last_steps_, best_);
    if (!group_.commit(right_.moment_of(state_))) throw left("the view was left before it began");
    reading_.all_have_opened();
    if (!std::exchange(took_part_, true) && options_.on_begin) options_.on_begin();
    if (founding) energy_.look_at_idle();
    if (!founding)
      if (const auto doubted_at = right_.due(group_, source)) go_back(*doubted_at);
    loop_.steps->seek(state_);
    loop_.steps->release(state_);  // where others were lost meanwhile, some alone have gathered it for a checkpoint
    const double without_view_s = std::chrono::duration<double>(Clock::now() - left_at_).count();
    record_->view(state_, std::exchange(left_because_, ""), without_view_s);
    parting_.tell(*record_);
  }

  void check_agreement(bool founding) {
    nlohmann::json mine = agreed_;
    // One that begins anew and one that goes on would wait for each other.
    if (founding) mine["start"] = options_.start == Start::kFresh ? "a new run" : "one that goes on";
    const auto found = find_disagreement(group_, mine);
    if (!found) return;
    if (founding || found->rank == group_.rank()) throw user_error(found->text);
    throw left(found->text);
  }

  // From the first of these ranks to the others.
  void bring_state(const std::vector<int>& ranks, bool founding) {
    if (std::find(ranks.begin(), ranks.end(), group_.rank()) == ranks.end()) return;
    const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
    share_state(group_, ranks, state_);
    if (keeps_good()) {
      if (!good_ || founding) good_ = state_;
      share_state(group_, ranks, *good_);
    }
    right_.share(group_, ranks, state_, founding);
    bring_best(ranks);
    nlohmann::json last = nlohmann::json::array();
    for (const StepRecord& one : last_steps_) last.push_back(one.encoded());
    std::string text = last.dump();
    broadcast_bytes(group_, text, ranks);
    last_steps_.clear();
    for (const nlohmann::json& one : nlohmann::json::parse(text))
      last_steps_.push_back(StepRecord::decoded(one.get<std::string>()));
  }

  void bring_best(const std::vector<int>& ranks) {
    std::string there = best_ ? "1" : "0";
    broadcast_bytes(group_, there, ranks);
    if (there == "0") return best_.reset();
    if (!best_) best_ = state_;
    share_state(group_, ranks, *best_);
  }

  // What a worker that errs has computed may be in all that was done since an audit has found all right.
  [[noreturn]] void part(const AuditFinding& finding) {
    if (right_.doubt(state_) && ends_run(finding, group_.size())) record_->doubt_behind(right_.global_step());
    parting_.part(finding, group_, *record_, job_.train.replicas, state_.global_step, leaves_);
  }

  void go_back(int64_t doubted_at) {
    const comm::Moment behind = right_.target(state_);
    arrive(behind);
    right_.restore(state_);
    const auto is_doubtful = [&](const std::optional<TrainState>& one) {
      return one && one->global_step > state_.global_step;
    };
    if (is_doubtful(good_)) good_ = state_;
    if (is_doubtful(best_)) best_.reset();
    last_steps_.clear();
    if (tells())
      log::warn(fmt::format("back to step {}: what workers that compute wrongly had a part in since then is done again",
                            state_.global_step));
    record_->rolled_back(state_, behind.rollbacks, "workers compute wrongly",
                         fmt::format("an audit behind step {}", doubted_at));
    record_->put_right(state_, best_);
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
    write_trace();
    if (trace_.is_wanted()) trace_.give_up(tells());
    energy_.read();
    loop_.steps->complete(state_);
    record_->finish(state_, gather_accounts(group_, account_of(clock_, group_.traffic(), energy_)));
    if (budget_) budget_->save();
    group_.barrier();  // should one that keeps the record be lost before, another one is needed
    group_.finish();
  }

  // Behind `moment` what was done counts: nothing of it may fail any more, and the state moves on.
  void arrive(const comm::Moment& moment) {
    if (!group_.commit(moment)) throw left("the view is being left");
    half_changed_ = false;
  }

  // A step that the group does not finish is done again from here.
  void remember_networks() {
    if (!group_.may_change() || loop_.steps->changes_at_once()) return;
    before_ = state_.networks;
    exchange_before_ = state_.exchange;
    half_changed_ = true;
  }

  // False if the step led to a rollback.
  bool one_step() {
    const auto rate_here = [&] { return rate_of_step(job_.train, state_, steps_per_epoch_, loop_.words->loss_name()); };
    const int64_t steps = loop_.steps->steps_at_once(state_);
    comm::Moment behind = right_.moment_of(state_);
    behind.steps += steps;
    trace_.begin(behind.steps);
    const trace::Span span("step", behind.steps);
    clock_.steps().begin(PhaseClock::now().wall, clock_[TimePhase::kInput].wall);
    remember_networks();
    const double begun = clock_[TimePhase::kCompute].wall;
    wish_ = wish_of_signal(job_, stop_signal());
    if (wish_ == StepWish::kNone && record_->due_by_time()) wish_ = StepWish::kSave;
    if (budget_ && wish_ != StepWish::kStop && !is_last(steps) &&
        budget_->ends_with(state_.global_step + steps, group_.size()))
      wish_ = StepWish::kEnough;
    const StepResult result = loop_.steps->step(state_, rate_here(), wish_, [&] { arrive(behind); });
    if (result.health == Health::kWrong) part(*result.finding);
    if (result.health != Health::kGood) {
      collapse(result);
      return false;
    }
    take_wishes(result);
    if (result.broken_off) {
      wish_ = result.own_wish;
      done_at_once_ = 0;
      return true;
    }
    if (!loop_.steps->changes_at_once()) arrive(behind);
    clock_.steps().end(PhaseClock::now().wall, clock_[TimePhase::kInput].wall, steps);
    state_.input = loop_.steps->input_place();
    last_steps_.clear();
    for (const Measures& losses : result.each.empty() ? std::vector{result.losses} : result.each) {
      const double rate = rate_here();
      for (const auto& [name, value] : losses) state_.epoch_sums[name] += value;
      ++state_.step;
      ++state_.global_step;
      last_steps_.push_back({state_.epoch, state_.step, state_.global_step, loop_.words->reported(losses), rate});
    }
    if (result.finding) right_.set(state_);
    last_steps_.back().round = result.round;
    for (const StepRecord& one : last_steps_) record_->step(one);
    give_account(clock_[TimePhase::kCompute].wall - begun);
    done_at_once_ = steps;
    return true;
  }

  void take_wishes(const StepResult& result) {
    // Who leaves must leave enough others behind; else all stop.
    stop_requested_ =
        result.stop_requested || (result.leaving > 0 && group_.size() - result.leaving < job_.distribution.workers_min);
    some_leave_ = result.leaving > 0;
    next_view_wanted_ = result.next_view_wanted;
    save_wanted_ = result.save_wanted;
    enough_ = result.enough;
  }

  bool is_last(int64_t steps) const {
    return state_.epoch + 1 == job_.train.epochs && state_.step + steps == steps_per_epoch_;
  }

  Error over_budget() const {
    return budget_error(budget_ ? budget_->used_up() : "", state_.global_step, options_.name);
  }

  void give_account(double computed_s) {
    const auto range = comm::replicas_of(group_.view(), group_.rank(), job_.train.pieces());
    told_.tell(group_, clock_, energy_, computed_s, range.end - range.begin);
  }

  void compare_states() {
    const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
    need_same_state(group_, state_);
  }

  // The state of a step that counts. Who loses the others at this moment saves it all the same.
  void save() {
    try {
      loop_.steps->complete(state_);
      compare_states();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kPeerLost) record_->save(state_);
      throw;
    }
    record_->save(state_);
    loop_.steps->release(state_);
  }

  // Collective, of what was traced of the steps so far.
  void write_trace() {
    if (trace_.has_begun(state_.global_step)) record_->trace(trace_.gather(group_));
  }

  void after_step() {
    record_->check();
    if (stop_requested_ || enough_ || trace_.is_over(state_.global_step)) write_trace();
    if (stop_requested_ || enough_) {
      save();
      if (budget_) budget_->save();
      record_->wait();
      group_.barrier();
      if (enough_ && !stop_requested_) throw over_budget();
      throw Error(ErrorCode::kPreempted,
                  fmt::format("[train] stopped by a signal after step {} (checkpoint saved); go on with: linac train "
                              "... --out {} --resume",
                              state_.global_step, options_.name));
    }
    const int64_t every = job_.checkpoint.every_steps;
    const bool by_steps = every > 0 && state_.global_step / every != (state_.global_step - done_at_once_) / every;
    if (by_steps) keep_good();
    if (by_steps || save_wanted_) save();
    if (some_leave_ && wish_ == StepWish::kLeave) record_->wait();  // whoever takes the record over finds it whole
    if (next_view_wanted_ || some_leave_) group_.barrier();         // nobody is to be called away before it has arrived
    if (some_leave_ && wish_ == StepWish::kLeave) {
      leaves_ = true;
      throw Error(ErrorCode::kPreempted,
                  fmt::format("[train] left the run after step {}, as SIGTERM asks (distribution.on_sigterm = leave); "
                              "the others go on",
                              state_.global_step));
    }
    if (next_view_wanted_) throw left("a step is done, and the next view is due");
  }

  void end_epoch() {
    comm::Moment behind = right_.moment_of(state_);
    ++behind.epochs;
    EpochRecord record{.epoch = state_.epoch, .train = state_.epoch_sums, .test = {}};
    for (auto& [name, value] : record.train)
      value /= static_cast<double>(loop_.words->steps_with(name, state_.epoch, steps_per_epoch_));
    record.train = loop_.words->reported(std::move(record.train));
    compare_states();
    std::optional<TestResult> tested;
    if (loop_.data->test_events() > 0) {
      record_->announce_test(state_);
      const bool due = job_.validate.every_epochs > 0 && (state_.epoch + 1) % job_.validate.every_epochs == 0;
      tested = loop_.steps->test(state_, due ? Figures::kWanted : Figures::kNone);
      record.test = tested->losses;
      record.physics = tested->physics;
    }
    const double value = monitored(record, job_.checkpoint.best_by, loop_.words->loss_name());
    const job::Better direction =
        direction_of(job_.checkpoint.best_by, job_.checkpoint.best_mode, loop_.words->loss_name());
    const bool best = std::isfinite(value) && (state_.best_epoch < 0 || better(direction, value, state_.best_value));
    const int64_t epochs = state_.epoch + 1;
    const bool due = job_.checkpoint.every_epochs > 0 && epochs % job_.checkpoint.every_epochs == 0;
    if (due || best || epochs == job_.train.epochs || job_.train.early_stopping.patience != job::kNever)
      loop_.steps->complete(state_);  // it may be saved
    arrive(behind);
    state_.history.push_back(record);
    state_.epoch_sums.clear();
    ++state_.epoch;
    state_.step = 0;
    if (best) {
      state_.best_value = value;
      state_.best_epoch = record.epoch;
    }
    keep_good();
    record_->check();
    const bool handed_over =
        handed_over_epoch(job_.train.early_stopping, state_.history, loop_.words->loss_name()) == record.epoch;
    keep_best(best || handed_over, due || finished());
    record_->epoch(state_, record, tested ? tested->signs_of_collapse : std::vector<std::string>{},
                   due || best || finished(), best);
    loop_.steps->release(state_);
  }

  // Whoever follows the one that writes the best checkpoint, or the one that is handed over, has it, should that one be
  // lost. A save waits for the one before: at the second one after the best, all know that it is on the disk.
  void keep_best(bool best, bool saved) {
    if (!group_.may_change()) return;
    if (best) {
      best_ = state_;
      saves_since_best_ = 0;
    } else if (best_ && saved && ++saves_since_best_ == 2) {
      best_.reset();
    }
  }

  bool keeps_good() const { return job_.train.collapse.action == "rollback"; }

  // Every worker keeps the state a rollback returns to, at moments that do not depend on clocks.
  void keep_good() {
    if (keeps_good()) good_ = state_;
  }

  void collapse(const StepResult& result) {
    if (!keeps_good() || state_.rollbacks >= job_.train.collapse.rollbacks)
      throw collapse_error(job_, state_, result, record_->has_checkpoint());
    const auto [what, where] = collapse_of(state_, result);
    comm::Moment behind = right_.moment_of(*good_);
    behind.rollbacks += state_.rollbacks + 1 - good_->rollbacks;
    arrive(behind);
    const int rollbacks = state_.rollbacks + 1;
    state_ = *good_;
    state_.rollbacks = rollbacks;
    right_.limit(state_);
    last_steps_.clear();
    if (tells())
      log::warn(fmt::format(
          "collapse: {} ({}); back to epoch {}, step {} with other random numbers and the learning rate x {}", what,
          where, state_.epoch + 1, state_.step, job_.train.collapse.lr_factor));
    record_->rolled_back(state_, behind.rollbacks, what, where);
    loop_.steps->seek(state_);
  }

  const job::Job job_;
  comm::Group& group_;
  const TrainingOptions options_;
  std::shared_ptr<const trained::KerasFile> read_;  // until the loop is made
  SharedReading reading_{job_, group_};
  PhaseClock clock_;
  HostEnergy energy_;
  Loop loop_;
  nlohmann::json agreed_;  // what_must_agree()
  int64_t steps_per_epoch_ = 0;
  TrainState state_;
  std::vector<Network> before_;     // of the step's begin, while they are half changed
  ExchangeState exchange_before_;   // likewise
  std::optional<TrainState> good_;  // that a rollback returns to
  std::optional<TrainState> best_;  // of the best epoch, while it may not be on the disk
  int saves_since_best_ = 0;
  RightState right_{job_.train.audit.rate > 0};
  std::optional<RecordKeeper> record_;  // once the loop is made
  std::optional<RunBudget> budget_;     // on rank 0, if the job has one
  std::vector<StepRecord> last_steps_;  // of the last step, or of the last round
  Clock::time_point left_at_ = Clock::now();
  ToldAccount told_;
  std::string left_because_;  // the last view
  Parting parting_;
  RunTrace trace_;
  StepWish wish_ = StepWish::kNone;  // in the last step
  int64_t done_at_once_ = 1;         // steps, likewise
  bool half_changed_ = false, stop_requested_ = false, some_leave_ = false, leaves_ = false, next_view_wanted_ = false,
       save_wanted_ = false, enough_ = false, took_part_ = false;
};

}  // namespace

void check_job(const job::Job& job, const trained::KerasFile* read) {
  models::need_device(numerics_of(job).device);
  const auto group = comm::make_lone_group();
  PhaseClock clock;
  steps_per_epoch(job, make_loop(job, *group, 1, clock, read).data->train_events());
}

void run_training(const job::Job& job, comm::Group& group, const TrainingOptions& options,
                  std::shared_ptr<const trained::KerasFile> read) {
  Trainer trainer(job, group, options, std::move(read));
  const auto fail = [&](const Error& error) {
    try {
      trainer.record_failure(error);
    } catch (const Error& another) {
      log::warn(another.what());  // the first one counts
    }
    // What any other worker would meet as well ends the run; a machine or a program that fails ends a worker.
    const bool own = error.code() == ErrorCode::kEnvironment || error.code() == ErrorCode::kInternal ||
                     error.code() == ErrorCode::kWrong || trainer.leaves();
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
