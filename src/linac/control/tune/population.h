#pragma once
// Population-based training (Jaderberg et al., "Population based training of neural networks", 2017; arXiv:1711.09846):
// members train together, an interval after the other. Behind each interval a member of the lower ranks takes over the
// state of one of the upper ranks and goes on with settings changed a little; the others go on with their own.
//
// A trial is one member's interval. Trials are numbered generation by generation, from 1 on, so a trial's number says
// member and interval. A generation begins when the one before has ended. So what a trial tries, and whose state it
// goes on from, is a function of (seed, number, the generations before): it does not depend on how many trials run at a
// time, nor on which of them ends first. A trial that came to no result ranks last, and its member takes over another
// one's state. Pure, thread-safe while the history does not grow.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/control/tune/history.h"

namespace linac::tune {

/// A study's choice of population.
struct PopulationSettings {
  std::string method = "none";
  int64_t members = 8;
  int64_t interval = 1;
  double quantile = 0.25;
  double resample = 0.25;

  template <class Visitor>
  void fields(Visitor& v) {
    v("method", method,
      "none; pbt: settings are perturbed or drawn anew; pb2: they are chosen by a model of what they gain over time");
    v("members", members, "networks that train together; budget.trials counts intervals of members");
    v("interval", interval, "epochs of a member between two comparisons; a command has its own measure");
    v("quantile", quantile, "this share of the members, the worst ones, go on from the state of as many of the best");
    v("resample", resample, "pbt: how often a setting is drawn anew in place of a small change");
  }

  bool used() const { return method != "none"; }
};

/// What a member does next.
struct PopulationStep {
  Point point;
  int64_t parent = 0;  // the trial whose last state it goes on from; 0: begins anew
};

class Population {
 public:
  /// User error naming the key if the settings are not possible. Not for method none.
  explicit Population(const PopulationSettings& settings);

  int64_t generation_of(int64_t trial) const { return (trial - 1) / settings_.members; }  // from 0 on
  int64_t member_of(int64_t trial) const { return (trial - 1) % settings_.members; }      // from 0 on
  /// Trials of the generation before that run: the trial begins behind their ends.
  std::vector<int64_t> waits_for(const History& history, int64_t trial) const;
  /// User error while it waits, or if no point is found that the constraints allow.
  PopulationStep next(const History& history, uint64_t seed, int64_t trial) const;

 private:
  PopulationSettings settings_;
};

std::vector<std::string> population_methods();

/// What a trial was worth at its end, as members are compared: the last loss that it reported, or what it was told
/// with.
double loss_at_end(const Trial& trial);

}  // namespace linac::tune
