#pragma once
// Of what the time of a plan is made. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/base/plan/forecast.h"
#include "linac/physics/plot/figure.h"

namespace linac::report {

struct PlanPart {
  const char* name;
  plan::Estimate seconds;
  plot::Colour colour;
};

/// In the order in which they come. The parts of a step times `steps`; 1: of one step.
std::vector<PlanPart> parts_of(const plan::Forecast& found, double steps);

}  // namespace linac::report
