#pragma once
// The physics figures that a training run looks at after an epoch: physics/physics/comparison.h without uncertainties
// and floors. A pure function of the showers, so every worker computes the same. Thread-safe.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "linac/io/data/dataset.h"
#include "linac/physics/physics/observables.h"

namespace linac::train {

struct QuickFigures {
  std::map<std::string, double> values;  // by figure name
  std::vector<std::string> signs_of_collapse;
};

/// `shower(real, event)`: a test shower or the generated one with its energy and angle, events 0 ... `events` - 1.
QuickFigures quick_figures(const data::Dataset& dataset, int64_t events,
                           const std::function<physics::Shower(bool real, int64_t event)>& shower);

/// User error naming the nearest figure if there is no such one ("loss" is).
void need_known_figure(const std::string& best_by);

}  // namespace linac::train
