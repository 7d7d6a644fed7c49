#pragma once
// What a model was compiled with (Keras's model.compile), as config.json of its archive tells it. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::keras {

/// What Keras 2 wrote as Keras 3 means it: a flat list of metrics counts for every output. Null stays null.
nlohmann::json modern_compile_config(nlohmann::json keras2, const graph::Graph& graph);

/// The names of the losses, one an output, as Keras's functions are called ("categorical_crossentropy" also for the
/// class CategoricalCrossentropy), "none" for an output without one; empty if the model was not compiled. User error
/// for a loss without a name, or for settings of one that linac does not compute.
std::vector<std::string> compiled_losses(const nlohmann::json& compile_config, const graph::Graph& graph);

/// Settings that a job has once, for the cross-entropies of all outputs (train.fit).
struct LossSettings {
  bool from_logits = false;
  double label_smoothing = 0;
};
/// User error if two of them have others.
LossSettings compiled_loss_settings(const nlohmann::json& compile_config, const graph::Graph& graph);

/// What is known of the loss of an output.
struct ToldLoss {
  std::string name;          // as above; empty: the file does not say it
  bool from_logits = false;  // the output is behind no sigmoid or softmax, which the loss applies
};
/// The same for who computes no loss: nothing is refused. Of each output, unless the model was not compiled.
std::vector<ToldLoss> told_losses(const nlohmann::json& compile_config, const graph::Graph& graph);

/// What a person should know of these losses: settings that Keras leaves out of its files, so that the loss is taken
/// with the default, as Keras takes it when it loads the file.
std::vector<std::string> remarks_on_losses(const nlohmann::json& compile_config);

/// Their weights, one an output; empty if none were given. User error if they are not numbers for all outputs.
std::vector<double> compiled_loss_weights(const nlohmann::json& compile_config, const graph::Graph& graph);

/// Names by output; empty if there are none at all.
using MetricNames = std::vector<std::vector<std::string>>;
/// The names of the metrics, as those of the losses; `key` is "metrics" or "weighted_metrics". What has no name is left
/// out; behind the name of one with settings that linac does not compute stands the first: "auc (curve = "PR")". Of
/// several outputs, a list of another length counts for each of them.
MetricNames compiled_metrics(const nlohmann::json& compile_config, const char* key, const graph::Graph& graph);

struct CompiledOptimizer {
  std::string name;       // Keras's class in small letters: "adam"
  nlohmann::json config;  // its settings; those that Keras's defaults are linac's may lack
};
/// Nothing if the model was not compiled. User error for an optimiser without a name.
std::optional<CompiledOptimizer> compiled_optimizer(const nlohmann::json& compile_config);

struct WrittenOptimizer {
  std::string keras_class;  // "AdamW"
  nlohmann::json config;
};
/// What a written model is to be compiled with. Empty lists are left out.
struct Compilation {
  std::vector<std::string> losses;   // one an output
  std::vector<double> loss_weights;  // one an output
  MetricNames metrics, weighted_metrics;
  std::optional<WrittenOptimizer> optimizer;  // nothing: Keras compiles with its default
  LossSettings settings = {};
};
/// The compile_config for Keras to compile the model with when it is loaded.
nlohmann::json compile_config(const Compilation& compilation, const graph::Graph& graph);

}  // namespace linac::keras
