#pragma once
// What a model was compiled with (Keras's model.compile), as config.json of its archive tells it. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/graph/graph.h"

namespace linac::graph {

/// The names of the losses, one an output, as Keras's functions are called ("categorical_crossentropy" also for the
/// class CategoricalCrossentropy); empty if the model was not compiled. User error for a loss without a name, or for
/// settings of one that are not Keras's defaults.
std::vector<std::string> compiled_losses(const nlohmann::json& compile_config, const Graph& graph);

/// The compile_config of a written model, for Keras to compile it with when it is loaded.
nlohmann::json compile_config(const std::vector<std::string>& losses, const Graph& graph);

}  // namespace linac::graph
