#pragma once
// What a Trainer drives: one kind of training, with its networks, its data and what a step of it is. The Trainer knows
// epochs, checkpoints, rollbacks and stop signals; a Loop knows none of them. Kinds: adversarial.h, fit.h,
// custom.h, chain_training.h. Member
// functions are for one thread; those marked collective are called by all workers in the same order.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/run_record.h"
#include "linac/model/graph/graph.h"
#include "linac/physics/plot/figure.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/loops/computing.h"
#include "linac/train/train/record/measures.h"
#include "linac/train/train/record/phase_clock.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/state/state.h"

namespace linac::trained {
struct KerasFile;  // compiled_job.h
}

namespace linac::train {

/// Why a step was not (wholly) applied. All workers see the same.
enum class Health { kGood, kNotFinite, kEmpty };

/// What a signal asked of this worker: to leave the others, or that all stop.
enum class StopWish { kNone, kLeave, kStop };

struct StepResult {
  Health health = Health::kGood;
  std::string where;  // the phase that failed
  Measures losses;
  bool stop_requested = false;    // some worker wishes that all stop
  int leaving = 0;                // workers that wish to leave
  bool next_view_wanted = false;  // after this step: newcomers wait, or replicas are to move
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
};

/// A measure that people look at first.
struct Column {
  std::string measure, heading;
};

/// A picture of the run, which another thread draws and writes while the training goes on.
struct Drawing {
  std::string file;                     // in the run's folder of pictures
  std::string tag;                      // in TensorBoard; empty: it is not there
  std::function<plot::Picture()> draw;  // holds all that it needs
};

class Loop {
 public:
  virtual ~Loop() = default;

  /// As Keras knows them, in the order of TrainState::networks.
  virtual std::vector<const graph::Graph*> graphs() const = 0;
  /// What is computed, after the passes; and what a step costs: text for people.
  virtual std::string explain() const = 0;
  virtual std::string cost() const = 0;
  /// What the training goes on from, and what of it: text for people. Empty: it starts from nothing.
  virtual std::string start() const { return ""; }

  /// {"train": [file, ...], "test": [...]}: url, format, events, bytes, fingerprint of each.
  virtual nlohmann::json data() const = 0;
  /// Of the bytes of the training files, the share that is read, as the first file tells when the function is called;
  /// errors as of its Source. It needs nothing of the loop, so another thread may wait for a slow link.
  virtual std::function<double()> read_share() const {
    return [] { return 1.0; };
  }
  /// What a checkpoint is to say of the training beside its job; an object, the same on every worker.
  virtual nlohmann::json notes() const { return nlohmann::json::object(); }
  /// Of the outputs whose targets the files hold as texts.
  virtual std::vector<job::OutputClasses> classes() const { return {}; }
  virtual int64_t train_events() const = 0;  // -1: not known, and train.steps_per_epoch is given
  virtual int64_t test_events() const = 0;   // 0: no test data
  /// A line a file, with what can be said of its content. Data error if one opens but cannot be read.
  virtual std::vector<std::string> describe_data() const = 0;
  /// How long this loop took to open its data: to read and pack them all, or a first window; 0 where it opens none.
  virtual double opened_s() const { return 0; }

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
  /// Collective. Changes the state's networks, not its position.
  virtual StepResult step(TrainState& state, double learning_rate, StopWish wish, const Arrive& arrive) = 0;
  /// The updates of a step in their order, on a worker that carries `replicas` of them.
  virtual std::vector<UpdateOutline> updates(const TrainState& state, int replicas) const = 0;
  /// Collective, with test data only.
  virtual TestResult test(const TrainState& state, Figures figures) = 0;
  /// What sets this step apart, for people: "discriminator alone, 3/36". `step`: finished ones of the epoch. Empty:
  /// nothing.
  virtual std::string stage(int64_t /*epoch*/, int64_t /*step*/) const { return ""; }
  /// In how many of an epoch's steps a loss is told.
  virtual int64_t steps_with(const std::string& /*loss*/, int64_t /*epoch*/, int64_t steps_per_epoch) const {
    return steps_per_epoch;
  }
  /// What the record tells of the losses of a step, or of their means over steps.
  virtual Measures reported(Measures means) const { return means; }

  /// What "loss" stands for where a job names it: a measure, the lower the better.
  virtual std::string loss_name() const = 0;
  /// "showers", "events"
  virtual std::string unit() const = 0;
  virtual std::vector<Column> columns() const = 0;
  /// Who keeps the record, after a test: pictures of the epoch. May be none.
  virtual std::vector<Drawing> drawings(const TrainState& state) const = 0;
  /// Rank 0, at the end: the trained networks as files for others. Returns lines for people: what lies where, what to
  /// do next.
  virtual std::vector<std::string> hand_over(const TrainState& state, const RunFolder& folder) const = 0;
};

/// By model.kind. Opens and scans the data; throws what would fail later. Borrows everything but `computing`. `read`:
/// the job's Keras file if it has been read already; not needed any more when this returns.
std::unique_ptr<Loop> make_loop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock,
                                const trained::KerasFile* read = nullptr);

/// Steps of an epoch: whole global batches, or train.steps_per_epoch if that is less. Data error naming the numbers if
/// there is none. `events` < 0: train.steps_per_epoch.
int64_t steps_per_epoch(const job::Job& job, int64_t events);

/// "7 steps an epoch of 2 replicas x 350 events (100 of the 5000 events are left over, others in each epoch)".
std::string epoch_in_words(const job::Job& job, int64_t events);

}  // namespace linac::train
