#pragma once
// What a model was compiled with (Keras's model.compile), as config.json of its archive tells it. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/graph/graph.h"

namespace linac::graph {

/// The names of the losses, one an output, as Keras's functions are called ("categorical_crossentropy" also for the
/// class CategoricalCrossentropy); empty if the model was not compiled. User error for a loss without a name, or for
/// settings of one that are not Keras's defaults.
std::vector<std::string> compiled_losses(const nlohmann::json& compile_config, const Graph& graph);

/// Their weights, one an output; empty if none were given. User error if they are not numbers for all outputs.
std::vector<double> compiled_loss_weights(const nlohmann::json& compile_config, const Graph& graph);

/// The names of the metrics, as those of the losses. Those that are of single outputs, and what has no name, are left
/// out.
std::vector<std::string> compiled_metrics(const nlohmann::json& compile_config);

struct CompiledOptimizer {
  std::string name;       // Keras's class in small letters: "adam"
  nlohmann::json config;  // its settings; may be empty
};
/// Nothing if the model was not compiled. User error for an optimiser without a name.
std::optional<CompiledOptimizer> compiled_optimizer(const nlohmann::json& compile_config);

/// Keras's class for such a name ("AdamW"); empty for one that is not Keras's.
std::string optimizer_class(const std::string& name);

/// What a written model is to be compiled with. Empty lists are left out.
struct Compilation {
  std::vector<std::string> losses;   // one an output
  std::vector<double> loss_weights;  // one an output
  std::vector<std::string> metrics;
  CompiledOptimizer optimizer{"adam", nlohmann::json::object()};
};
/// The compile_config for Keras to compile the model with when it is loaded.
nlohmann::json compile_config(const Compilation& compilation, const Graph& graph);

}  // namespace linac::graph
