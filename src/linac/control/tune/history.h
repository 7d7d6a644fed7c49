#pragma once
// What a study has asked and been told, in the order in which it was recorded. Append-only: a suggestion is a function
// of (seed, trial number, history), so the same records give the same suggestions. Objective values are kept as they
// were told and as losses, of which less is better. What is no finite number is a result: the trial is infeasible, with
// the reason. Not thread-safe while it grows.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "linac/control/tune/space.h"

namespace linac::tune {

enum class Direction { kMinimize, kMaximize };

/// A value as a loss, and a loss as the value that was told.
inline double loss_of(Direction direction, double value) {
  return direction == Direction::kMinimize ? value : -value;
}

enum class State {
  kRunning,
  kComplete,
  kPruned,      // stopped before its end; its last intermediate value says what it was worth
  kFailed,      // says nothing about its point: a host was lost
  kInfeasible,  // its point cannot be used: NaN, infinity, out of memory
};

struct Trial {
  int64_t number = 0;
  int64_t parent = 0;  // of a population: the trial whose last state it goes on from; 0: none
  Point point;
  std::vector<double> unit;  // of the point
  State state = State::kRunning;
  std::string reason;                             // kPruned, kFailed, kInfeasible
  std::vector<double> values;                     // as told, one an objective
  std::vector<double> losses;                     // the same, less is better
  std::vector<std::pair<int64_t, double>> curve;  // (step, loss of the first objective) as reported; NaN: +infinity
  double cost = std::numeric_limits<double>::quiet_NaN();  // what it took, in a unit of the study's; NaN: not known
};

class History {
 public:
  explicit History(const Space& space, std::vector<Direction> directions = {Direction::kMinimize});

  const Space& space() const { return space_; }
  size_t objectives() const { return directions_.size(); }
  std::span<const Direction> directions() const { return directions_; }

  /// User error if the number is there already, the point is not of the space, or the parent is no complete trial.
  void start(int64_t number, const Point& point, int64_t parent = 0);
  /// An intermediate value of a running trial. User error if there is no such trial, or its step is not after the last.
  void report(int64_t number, int64_t step, double value);
  /// What a running trial has taken, told before its end. User error if it is not running, was told before, or is
  /// no number of 0 or more.
  void spend(int64_t number, double cost);
  /// What the trials of the study may cost together; 0: no limit. User error as above.
  void set_budget(double cost);
  /// As many values as objectives. User error if the trial is not running.
  void complete(int64_t number, const std::vector<double>& values);
  void prune(int64_t number, const std::string& reason);
  void fail(int64_t number, const std::string& reason);
  void infeasible(int64_t number, const std::string& reason);

  /// In the order in which they were started.
  std::span<const Trial> trials() const { return trials_; }
  /// Positions in trials() of those that ended, in the order in which that was told.
  std::span<const size_t> told() const { return told_; }
  /// Null if there is no such trial.
  const Trial* find(int64_t number) const;
  double budget() const { return budget_; }
  /// What was told of costs, added up.
  double spent() const { return spent_; }
  /// How many are complete.
  size_t complete_count() const { return complete_; }
  /// The complete trial of the least loss of the first objective, the earliest told of several; null: none.
  const Trial* best() const;
  /// The complete trials that no other one dominates, in the order in which they were told. Of one objective: best().
  std::vector<const Trial*> front() const;
  /// A trial with this point was started.
  bool seen(const Point& point) const;

  /// Tells histories apart by the first `count` of what was told: what a sampler keeps is of use where this is equal.
  uint64_t fingerprint(size_t count) const { return fingerprints_[count]; }

 private:
  Trial& running(int64_t number);
  void end(Trial& trial, State state, const std::string& reason);

  Space space_;
  std::vector<Direction> directions_;
  std::vector<Trial> trials_;
  std::vector<size_t> told_;
  std::vector<uint64_t> fingerprints_;  // one more than told_
  std::unordered_map<int64_t, size_t> places_;
  std::unordered_set<std::string> points_;  // their bytes
  size_t complete_ = 0;
  double budget_ = 0, spent_ = 0;
  size_t best_ = std::numeric_limits<size_t>::max();
};

}  // namespace linac::tune
