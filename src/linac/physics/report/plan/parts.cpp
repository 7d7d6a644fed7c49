#include "linac/physics/report/plan/parts.h"

#include "linac/physics/plot/categories.h"

namespace linac::report {

std::vector<PlanPart> parts_of(const plan::Forecast& found) {
  const double steps = found.steps;
  return {{"queue", found.queue, plot::category_colour(7)},
          {"start", found.start, plot::category_colour(1)},
          {"computing", found.compute * steps, plot::category_colour(2)},
          {"waiting for the slowest", found.waiting * steps, plot::category_colour(4)},
          {"exchange", found.exchange * steps, plot::category_colour(5)},
          {"first steps", found.first, plot::category_colour(0)},
          {"tests, checkpoints, end", found.between, plot::category_colour(3)},
          {"taken away", found.preempted, plot::category_colour(6)}};
}

}  // namespace linac::report
