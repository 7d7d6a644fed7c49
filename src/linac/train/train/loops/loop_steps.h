#pragma once
// The part of a training that computes: its networks, its state, and what a step and a test are. The Trainer knows
// epochs, checkpoints, rollbacks and stop signals; nothing here knows of them. Member functions are for one thread;
// those marked collective are called by all workers in the same order.

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/run_record.h"
#include "linac/model/graph/graph.h"
#include "linac/train/train/audit/finding.h"
#include "linac/train/train/record/measures.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// Why a step was not (wholly) applied. All workers see the same.
enum class Health { kGood, kNotFinite, kEmpty, kWrong };  // kWrong: an audit has found that some compute wrongly

/// What this worker asks beside a step: a checkpoint of all that keep the record, by the clock; or what a signal asked
/// of it: to leave the others, or that all stop; or that all stop, as the run's budget is used up.
enum class StepWish { kNone, kSave, kLeave, kStop, kEnough };
/// What a signal (0: none) asks of a worker of this job.
inline StepWish wish_of_signal(const job::Job& job, int signal) {
  if (signal == 0) return StepWish::kNone;
  return signal == SIGTERM && job.distribution.on_sigterm == "leave" ? StepWish::kLeave : StepWish::kStop;
}

/// Of a step, or of a round of steps (local/local_steps.h).
struct StepResult {
  Health health = Health::kGood;
  std::string where;  // the phase that failed
  /// Of a step that is not finite: with which layer and event it began and what to do, as far as that is known.
  struct Cause {
    std::string words, advice;
  } cause = {};
  std::optional<AuditFinding> finding;  // of one that was audited
  Measures losses;                      // of a step
  std::vector<Measures> each;           // of a round: the losses of its steps
  std::optional<job::RoundLine> round;  // of a round
  bool broken_off = false;              // of a round: a signal came, and the state is that of its begin
  StepWish own_wish = StepWish::kNone;  // likewise: this worker's by then
  bool stop_requested = false;          // some worker wishes that all stop
  int leaving = 0;                      // workers that wish to leave
  bool save_wanted = false;             // after this step: a checkpoint is due by the clock
  bool enough = false;                  // the budget is used up
  bool next_view_wanted = false;        // after this step: newcomers wait, or replicas are to move
};

struct TestResult {
  Measures losses;                             // means over the set
  Measures physics;                            // figures, if they were due
  std::vector<std::string> signs_of_collapse;  // as physics sees it
};

enum class Figures { kNone, kWanted };

/// One update of a step as the workers see it: what travels of it, and what that can hide behind. For planning.
struct UpdateOutline {
  /// Of the update's message; in the order in which the parts travel.
  struct Part {
    size_t begin;  // the gradient of the network's weights from here on; behind the gradient for what is known last
    double bytes;
  };
  std::string phase;  // what its losses begin with; empty where a step has one update only
  size_t network;     // whose weights it changes, in TrainState::networks
  std::vector<Part> parts;
  bool leaves_early;  // a part travels while the update's own backward pass goes on; else all of them after it
  double beside = 0;  // computing that needs nothing of the update, done while it travels; 1: as much as its own
  double every = 1;   // steps from one to the next; more than 1 where groups train apart
};

class LoopSteps {
 public:
  virtual ~LoopSteps() = default;

  /// As Keras knows them, in the order of TrainState::networks.
  virtual std::vector<const graph::Graph*> graphs() const = 0;
  /// Before the first step.
  virtual TrainState initial_state() const = 0;
  /// The input goes on at the state's position, for the replicas that this worker carries now. Before the first step,
  /// and in each new view of the group.
  virtual void seek(const TrainState& state) = 0;
  /// Of the last step, for TrainState::input.
  virtual std::optional<InputPlace> input_place() const { return std::nullopt; }
  /// Whether a step changes each network at its very end, when all of the step is known to be good. Then step() calls
  /// `arrive` right before; if that throws, the networks are as they were. Else `arrive` is not called, and a step that
  /// breaks off may leave the networks between two states.
  virtual bool changes_at_once() const { return false; }
  using Arrive = std::function<void()>;
  /// How many steps the next step() is: a round where islands train apart, else one.
  virtual int64_t steps_at_once(const TrainState& /*state*/) const { return 1; }
  /// The networks have become others since the last step: what was computed ahead with them is in vain.
  virtual void forget_ahead() {}
  /// Collective, before a checkpoint is written: what only some workers have of the state becomes part of it.
  virtual void complete(TrainState& /*state*/) {}
  /// It is written: that goes again.
  virtual void release(TrainState& /*state*/) {}
  /// Collective. Changes the state's networks, not its position.
  virtual StepResult step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) = 0;
  /// The updates of a step in their order, on a worker that carries `replicas` of them.
  virtual std::vector<UpdateOutline> updates(const TrainState& state, int replicas) const = 0;
  /// Collective, with test data only: what the epoch is judged by.
  virtual TestResult test(const TrainState& state, Figures figures) = 0;
};

}  // namespace linac::train
