#pragma once
// Named numbers of a step or an epoch: losses and metrics. A name with a stroke, "d_real/total", is a part ("total") of
// something ("d_real"). Thread-safe functions.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace linac::job {

/// Every value is a mean over the events it stands for.
using Measures = std::map<std::string, double>;

/// {"d_real": {"total": ...}}, {"loss": ...}
nlohmann::json to_json(const Measures& measures);
/// The way back; throws nlohmann::json::exception for anything else.
Measures measures_from_json(const nlohmann::json& json);

/// The value of `name`, 0 if there is none.
double value_of(const Measures& measures, const std::string& name);

}  // namespace linac::job
