#pragma once
// The steering of PanDA's hyper-parameter tasks (phpo): a program that is told all points so far with their losses, and
// answers with the next ones. It keeps nothing: what it suggests follows from its input alone. Pure, thread-safe.
//
// Input: {"points": [[{name: value}, loss or null], ...], "opt_space": {...} or null}. Of a task with segments, several
// models at once, a point is [model, {name: value}], and the space may be a list, [{"model_id": 0, "search_space":
// {...}}, ...]; a model is a number or a text, and stays what it is. Space: {"lr": {"method": "loguniform",
// "dimension": {"low": 1e-5, "high": 1e-2}}}; methods are uniform, loguniform, uniformint and categorical
// ({"categories": [...]}).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linac/control/tune/sampler.h"

namespace linac::study {

struct Steering {
  int64_t points_max = 0;         // of the whole search
  int64_t points = 1;             // wanted now
  tune::SamplerSettings sampler;  // of one objective, less is better
  uint64_t seed = 1;
  std::vector<std::string> segments;  // models of the task; those that points name need not be among them
};

/// The next points, at most as many as are wanted and as the search has left; none: it is over. `space` counts where
/// the input has none. A point that has no loss yet is being tried; one that is not of the space takes its place, and
/// is no more looked at. User error naming the field.
nlohmann::json steer(const Steering& wanted, const nlohmann::json& input, const nlohmann::json& space);

}  // namespace linac::study
