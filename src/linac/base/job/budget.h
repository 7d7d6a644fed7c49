#pragma once
// What a run may use, and what was expected of it before it began: parts of the job (job.h). Plain values.

#include <cstdint>
#include <string>
#include <vector>

namespace linac::job {

/// What the run may use; 0: no limit.
struct Budget {
  int64_t steps = 0;
  double hours = 0, money = 0, kwh = 0, co2_kg = 0;
  double price = 0, watts = 0, co2_g_per_kwh = 0;

  bool any() const { return steps > 0 || hours > 0 || money > 0 || kwh > 0 || co2_kg > 0; }

  template <class V>
  void fields(V& v) {
    v("steps", steps,
      "so many in all; at this limit, and those below, the run writes a checkpoint and ends with status 12; raise it "
      "to go on (`--resume --set budget.steps=N`). 0: no limit");
    v("hours", hours, "of training, all attempts together");
    v("money", money, "by `price`");
    v("kwh", kwh, "of energy, by the meters of its machines; by `watts` where there are none");
    v("co2_kg", co2_kg, "kg of carbon dioxide: that energy times `co2_g_per_kwh`");
    v("price", price, "of a worker for an hour, in the currency of `money`");
    v("watts", watts, "that a worker takes where no meter tells, its part of the host's idle power included");
    v("co2_g_per_kwh", co2_g_per_kwh, "g of carbon dioxide for a kWh where it runs");
  }
};

/// What was expected of the run before it began: each list is low, middle and high, and four runs of five should be
/// between the first and the last. `linac report` and `linac plan calibration` compare; a launch whose place is too
/// small is refused.
struct Planned {
  std::string on;
  std::vector<double> start_s, step_s, jitter, hours, money, kwh, co2_kg;
  double memory_gib = 0;

  bool any() const { return !on.empty(); }

  template <class V>
  void fields(V& v) {
    v("on", on, "the machines that it was planned for, as `linac plan --write` names them");
    v("start_s", start_s, "[low, middle, high] of an interval of 80 %: seconds from the start to the first step");
    v("step_s", step_s, "likewise: seconds a step");
    v("jitter", jitter, "likewise: standard deviation of a step, over its mean");
    v("hours", hours, "likewise: of the whole run");
    v("money", money, "likewise: in US dollars");
    v("kwh", kwh, "likewise: of energy");
    v("co2_kg", co2_kg, "likewise: kg of carbon dioxide");
    v("memory_gib", memory_gib,
      "GiB that a worker takes at the most, as it was measured; a place that gives less is refused at a launch. 0: not "
      "known");
  }
};

}  // namespace linac::job
