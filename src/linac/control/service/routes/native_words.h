#pragma once
// The catalog as JSON of linac's own API (docs/reference/service-api.md).

#include <nlohmann/json_fwd.hpp>

#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/experiments.h"
#include "linac/control/catalog/models.h"
#include "linac/control/catalog/runs.h"

namespace linac::service {

nlohmann::json native_run(const catalog::Run& run);
nlohmann::json native_inputs(const catalog::Run& run);
nlohmann::json native_transitions(const std::vector<catalog::Transition>& transitions);
nlohmann::json native_experiment(const catalog::Experiment& experiment);
nlohmann::json native_model(const catalog::RegisteredModel& model);
nlohmann::json native_version(const catalog::ModelVersion& version);
/// A stretch as a list, in the order of kStretchFields.
nlohmann::json native_stretch(const catalog::Stretch& stretch);
constexpr const char* kStretchFields[] = {"first_step", "last_step", "time_ms", "count",
                                          "not_finite", "min",       "max",     "last"};

}  // namespace linac::service
