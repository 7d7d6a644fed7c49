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

/// In the order in which they come.
std::vector<PlanPart> parts_of(const plan::Forecast& found);

}  // namespace linac::report
