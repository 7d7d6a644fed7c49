#pragma once
// Parts of the record (run_record.h): what workers tell of the energy of their machines, and what that is together
// (run_energy.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/measures.h"
#include "linac/base/job/record_fields.h"

namespace linac::job {

/// What a worker has read since it began to read.
struct ToldEnergy {
  static constexpr const char* kName = "ToldEnergy";
  std::string machine, method;
  double from = 0, seconds = 0, model_j = 0;
  Measures joules, idle_w;

  template <class V>
  static void fields(V&& v) {
    v({"machine", "", "whose meters these are; several workers of one tell the same energy"}, &ToldEnergy::machine);
    v({"from", "s since 1970", "when it began to read"}, &ToldEnergy::from);
    v({"seconds", "s", "from then to the last reading"}, &ToldEnergy::seconds);
    v({"joules", "J", "by meter: `processors`, `gpu 0`; empty where none can be read"}, &ToldEnergy::joules);
    v({"idle_w", "W", "by meter: before the first step, while no worker computed"}, &ToldEnergy::idle_w);
    v({"model_j", "J", "of this worker by a model, where there is no meter; 0: nor a model"}, &ToldEnergy::model_j);
    v({"method", "", "in words"}, &ToldEnergy::method);
  }
};

/// The energy of a run: all starts and all machines, each once.
struct RunEnergy {
  static constexpr const char* kName = "RunEnergy";
  std::optional<double> kwh, model_kwh, idle_kwh, co2_kg;
  int64_t machines = 0;
  std::vector<std::string> methods;
  std::vector<ToldEnergy> told;

  template <class V>
  static void fields(V&& v) {
    v({"kwh", "kWh", "all of it", Need::kSpare, "a meter or a model tells any"}, &RunEnergy::kwh);
    v({"model_kwh", "kWh", "of that, what is a model", Need::kSpare, "a model tells any"}, &RunEnergy::model_kwh);
    v({"idle_kwh", "kWh", "of that, what its idle machines would have taken in the same time", Need::kSpare,
       "measured before the first step"},
      &RunEnergy::idle_kwh);
    v({"co2_kg", "kg", "carbon dioxide", Need::kSpare, "known for a kWh"}, &RunEnergy::co2_kg);
    v({"machines", "", "how many have told of any energy"}, &RunEnergy::machines);
    v({"methods", "", "where the figures are from, in words"}, &RunEnergy::methods);
    v({"told", "", "by worker and start"}, &RunEnergy::told);
  }
};

}  // namespace linac::job
