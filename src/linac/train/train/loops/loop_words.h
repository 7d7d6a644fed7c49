#pragma once
// The part of a training that tells: names of measures, words for people and for the record, pictures, the trained
// networks as files. Computes nothing of the training, and nothing here is collective. Member functions are for one
// thread.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"
#include "linac/train/train/record/measures.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// A measure that people look at first.
struct Column {
  std::string measure, heading;
};

/// A picture of the run, which another thread draws and writes while the training goes on.
struct Drawing {
  std::string file;                     // in the run's folder of pictures
  std::string tag;                      // in TensorBoard; empty: it is not there
  std::function<plot::Picture()> draw;  // holds all that it needs
  bool grows = false;                   // the same file after each epoch, of all epochs so far
};

class LoopWords {
 public:
  virtual ~LoopWords() = default;

  /// What is computed, after the passes; and what a step costs: text for people.
  virtual std::string explain() const = 0;
  virtual std::string cost() const = 0;
  /// What the training goes on from, and what of it: text for people. Empty: it starts from nothing.
  virtual std::string start() const { return ""; }

  /// What a checkpoint is to say of the training beside its job; an object, the same on every worker.
  virtual nlohmann::json notes() const { return nlohmann::json::object(); }

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

}  // namespace linac::train
