#include "linac/model/keras/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/model/keras/layers.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;

// A text may name a class: "Recall", "AUC".
std::string name_in_text(const std::string& text) {
  const auto is_upper = [](unsigned char letter) { return std::isupper(letter) != 0; };
  return std::any_of(text.begin(), text.end(), is_upper) ? keras_snake_case(text) : text;
}

/// Of a loss, a metric or an optimiser: a text, an object of a class, or a function
/// ({"class_name": "function", "config": its name}); of a metric that Keras made of a function ("accuracy" in .h5 files
/// of Keras 2), the function's. Empty if it has none.
std::string name_of(const json& thing) {
  if (thing.is_string()) return name_in_text(thing.get<std::string>());
  if (!thing.is_object() || !thing.contains("class_name") || !thing["class_name"].is_string()) return "";
  const json config = thing.value("config", json());
  if (config.is_string()) return config.get<std::string>();
  const auto class_name = thing["class_name"].get<std::string>();
  if (class_name == "MeanMetricWrapper" && config.is_object()) return name_of(config.value("fn", json()));
  const std::string registered = "Custom>";  // Keras 2.11 to 2.15 say so of their own optimizers
  return keras_snake_case(class_name.starts_with(registered) ? class_name.substr(registered.size()) : class_name);
}

// Settings of Keras's losses and metrics that change what they compute, each with the values that linac computes.
// Others, as a name, change nothing.
const std::map<std::string, std::vector<json>>& computed_settings() {
  static const std::map<std::string, std::vector<json>> settings{{"alpha", {0.25}},
                                                                 {"apply_class_balancing", {false}},
                                                                 {"axis", {-1}},
                                                                 {"class_id", {nullptr}},
                                                                 {"curve", {"ROC"}},
                                                                 {"delta", {1.0}},
                                                                 {"from_logits", {false}},
                                                                 {"gamma", {2.0}},
                                                                 {"ignore_class", {nullptr}},
                                                                 {"k", {5}},
                                                                 {"label_smoothing", {0.0}},
                                                                 {"label_weights", {nullptr}},
                                                                 {"reduction", {"sum_over_batch_size", "auto", "mean"}},
                                                                 {"threshold", {0.5}},
                                                                 {"thresholds", {nullptr, 0.5}},
                                                                 {"top_k", {nullptr}}};
  return settings;
}

// Settings of losses that a job has, too.
constexpr const char *kLogits = "from_logits", *kSmoothing = "label_smoothing";

bool has_setting(const std::string& loss, const char* setting) {
  return loss.ends_with("crossentropy") && (setting == kLogits || !loss.starts_with("sparse"));
}

// "gamma = 3.0", the first that linac does not compute; empty if it computes what these settings say.
std::string uncomputed_setting(json config, const std::string& loss = "") {
  if (!config.is_object()) return "";
  if (has_setting(loss, kLogits) && config.value(kLogits, json()).is_boolean()) config.erase(kLogits);
  if (has_setting(loss, kSmoothing) && config.value(kSmoothing, json()).is_number()) config.erase(kSmoothing);
  for (const auto& [key, values] : computed_settings()) {
    const auto found = config.find(key);
    if (found != config.end() && std::find(values.begin(), values.end(), *found) == values.end())
      return fmt::format("{} = {}", key, brief(*found));
  }
  return "";
}

json config_of(const json& thing) {
  json config = thing.is_object() ? thing.value("config", json()) : json();
  return config.is_object() ? config : json::object();
}

/// Settings of Keras 3's losses that their get_config() leaves out. (Keras 2 writes them.)
struct UnwrittenSetting {
  const char *loss, *setting, *otherwise;
};
constexpr UnwrittenSetting kUnwritten[] = {{"huber", "delta", "1.0"}, {"cosine_similarity", "axis", "-1"}};

void add_remarks(const json& loss, std::vector<std::string>& remarks) {
  const bool one = loss.is_object() && loss.contains("class_name");
  if (!one) {
    for (const json& part : loss.is_structured() ? loss : json::array()) add_remarks(part, remarks);
    return;
  }
  if (loss["class_name"] == "function") return;
  for (const UnwrittenSetting& unwritten : kUnwritten) {
    if (name_of(loss) != unwritten.loss || config_of(loss).contains(unwritten.setting)) continue;
    remarks.push_back(
        fmt::format("the model was compiled with a {}, and Keras's files do not say its {}: {} is taken, as Keras does "
                    "when it loads the file; a loss with another {} is not there",
                    unwritten.loss, unwritten.setting, unwritten.otherwise, unwritten.setting));
  }
}

// Of an output that nothing is asked of: Keras's None.
constexpr const char* kNoLoss = "none";

std::string loss_name(const json& loss) {
  if (loss.is_null()) return kNoLoss;
  const std::string name = name_of(loss);
  if (name.empty() || name.find("lambda") != std::string::npos) {
    throw user_error(
        "[keras] the model was compiled with a loss that is Python code, which its file does not hold; give "
        "train.fit.loss");
  }
  if (const std::string setting = uncomputed_setting(config_of(loss), name); !setting.empty()) {
    throw user_error(
        fmt::format("[keras] the model was compiled with a {} that has settings of its own ({}); give train.fit.loss",
                    name, setting));
  }
  return name;
}

// What Keras's F1Score and its text mean is a list by classes.
const json& micro_f1() {
  static const json config{{"average", "micro"}, {"threshold", 0.5}};
  return config;
}

// With the setting that linac does not compute behind it, which makes it a name that is not there.
std::string metric_name(const json& metric) {
  const std::string name = name_of(metric);
  const json config = config_of(metric);
  std::string setting = uncomputed_setting(config);
  if (name == "f1_score") {
    for (const auto& [key, value] : micro_f1().items()) {
      const json found = config.value(key, json());
      if (setting.empty() && found != value) setting = fmt::format("{} = {}", key, brief(found));
    }
  }
  return setting.empty() ? name : fmt::format("{} ({})", name, setting);
}

json written_metric(const std::string& name) {
  if (name != "f1_score") return name;  // Keras's default of it is a list by classes
  json config = micro_f1();
  config["name"] = name;
  return {{"module", "keras.metrics"}, {"class_name", "F1Score"}, {"config", config}, {"registered_name", nullptr}};
}

json written_metrics(const MetricNames& of_outputs) {
  json all = json::array();
  for (const std::vector<std::string>& names : of_outputs) {
    json& written = all.emplace_back(json::array());
    for (const std::string& name : names) written.push_back(written_metric(name));
  }
  return all;
}

// Of one metric or a list of them.
void add_names(const json& metrics, std::vector<std::string>& names) {
  if (metrics.is_array()) {
    for (const auto& metric : metrics) add_names(metric, names);
  } else if (std::string name = metric_name(metrics); !name.empty()) {
    names.push_back(std::move(name));
  }
}

const std::string& output_name(const graph::Graph& graph, int output) {
  return graph.nodes[static_cast<size_t>(output)].name;
}

// Of the compile_config, if it is there and not null.
const json* member(const json& compile_config, const char* key) {
  if (!compile_config.is_object()) return nullptr;
  const auto found = compile_config.find(key);
  return found == compile_config.end() || found->is_null() ? nullptr : &*found;
}

// By output as the file has them; empty if the model was not compiled.
std::vector<json> losses_of_outputs(const json& compile_config, const graph::Graph& graph) {
  const json* const loss = member(compile_config, "loss");
  if (loss == nullptr) return {};
  std::vector<json> losses;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    json one = *loss;
    if (loss->is_array()) one = i < loss->size() ? (*loss)[i] : json();
    if (loss->is_object() && !loss->contains("class_name"))
      one = loss->value(output_name(graph, graph.outputs[i]), json());
    losses.push_back(std::move(one));
  }
  return losses;
}

// As a class, where Keras's default of a setting is another.
json written_loss(const std::string& name, const LossSettings& settings) {
  if (name == kNoLoss) return nullptr;
  json config{{"name", name}, {"reduction", "sum_over_batch_size"}};
  const bool logits = settings.from_logits && has_setting(name, kLogits),
             smoothed = settings.label_smoothing > 0 && has_setting(name, kSmoothing);
  if (logits) config[kLogits] = true;
  if (smoothed) config[kSmoothing] = settings.label_smoothing;
  if (!logits && !smoothed) return name;
  return {{"module", "keras.losses"},
          {"class_name", keras_class_name(name)},
          {"config", config},
          {"registered_name", nullptr}};
}

// Keras 2 writes compile("sgd") into .keras files as it was given. Its defaults, where they are not linac's.
json settings_of_text(const std::string& optimizer) {
  static const std::map<std::string, json> settings{{"sgd", {{"learning_rate", 0.01}}},
                                                    {"adadelta", {{"rho", 0.95}}},
                                                    {"adamw", {{"weight_decay", 0.004}}},
                                                    {"lion", {{"learning_rate", 1e-4}, {"beta_2", 0.99}}}};
  const auto found = settings.find(optimizer);
  return found == settings.end() ? json::object() : found->second;
}

}  // namespace

json modern_compile_config(json keras2, const graph::Graph& graph) {
  if (!keras2.is_object()) return keras2;
  if (keras2.contains("optimizer_config")) {
    keras2["optimizer"] = keras2["optimizer_config"];
    keras2.erase("optimizer_config");
  }
  for (const char* key : {"metrics", "weighted_metrics"}) {
    const json* const metrics = member(keras2, key);
    if (metrics == nullptr || !metrics->is_array()) continue;
    if (std::any_of(metrics->begin(), metrics->end(), std::mem_fn(&json::is_array))) continue;
    json all = json::array();
    for (size_t i = 0; i < graph.outputs.size(); ++i) all.push_back(*metrics);
    keras2[key] = std::move(all);
  }
  return keras2;
}

std::vector<std::string> compiled_losses(const json& compile_config, const graph::Graph& graph) {
  const json* const loss = member(compile_config, "loss");
  if (loss == nullptr) return {};
  std::vector<std::string> names;
  if (loss->is_array()) {
    for (const auto& one : *loss) names.push_back(loss_name(one));
  } else if (loss->is_object() && !loss->contains("class_name")) {
    for (const int output : graph.outputs) {
      const std::string& name = output_name(graph, output);
      names.push_back(loss_name(loss->value(name, json())));
    }
  } else {
    names.push_back(loss_name(*loss));
  }
  return names;
}

LossSettings compiled_loss_settings(const json& compile_config, const graph::Graph& graph) {
  const std::vector<json> losses = losses_of_outputs(compile_config, graph);
  json found = json::object();
  for (size_t i = 0; i < losses.size(); ++i) {
    for (const auto& [setting, otherwise] : {std::pair{kLogits, json(false)}, std::pair{kSmoothing, json(0.0)}}) {
      if (!has_setting(name_of(losses[i]), setting)) continue;
      const json value = config_of(losses[i]).value(setting, otherwise);
      if (found.contains(setting) && found[setting] != value)
        throw user_error(
            fmt::format("[keras] the model was compiled with losses of different {}, output '{}' with {}, and "
                        "a training has one for all; give train.fit.loss, and train.fit.{} for all",
                        setting, output_name(graph, graph.outputs[i]), brief(value), setting));
      found[setting] = value;
    }
  }
  return {.from_logits = found.value(kLogits, false), .label_smoothing = found.value(kSmoothing, 0.0)};
}

std::vector<ToldLoss> told_losses(const json& compile_config, const graph::Graph& graph) {
  std::vector<ToldLoss> told;
  for (const json& loss : losses_of_outputs(compile_config, graph))
    told.push_back({name_of(loss), config_of(loss).value(kLogits, json()) == true});
  return told;
}

std::vector<std::string> remarks_on_losses(const json& compile_config) {
  std::vector<std::string> remarks;
  if (const json* const loss = member(compile_config, "loss")) add_remarks(*loss, remarks);
  return remarks;
}

std::vector<double> compiled_loss_weights(const json& compile_config, const graph::Graph& graph) {
  const json* const weights = member(compile_config, "loss_weights");
  if (weights == nullptr || (weights->is_structured() && weights->empty())) return {};
  std::vector<double> values;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = output_name(graph, graph.outputs[i]);
    json value = weights->is_number() && graph.outputs.size() == 1 ? *weights : json();
    if (weights->is_array() && weights->size() == graph.outputs.size()) value = (*weights)[i];
    if (weights->is_object() && weights->contains(name)) value = (*weights)[name];
    if (!value.is_number()) {
      throw user_error(fmt::format(
          "[keras] the model was compiled without a weight for the loss of output '{}'; give train.fit.loss_weights",
          name));
    }
    values.push_back(value.get<double>());
  }
  return values;
}

MetricNames compiled_metrics(const json& compile_config, const char* key, const graph::Graph& graph) {
  const json* const metrics = member(compile_config, key);
  if (metrics == nullptr || metrics->empty()) return {};
  const size_t outputs = graph.outputs.size();
  const bool nested =
      metrics->is_array() && std::any_of(metrics->begin(), metrics->end(), std::mem_fn(&json::is_array));
  MetricNames names(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    if (metrics->is_object() && !metrics->contains("class_name")) {
      const auto found = metrics->find(output_name(graph, graph.outputs[i]));
      if (found != metrics->end()) add_names(*found, names[i]);
    } else if (metrics->is_array() && metrics->size() == outputs && (nested || outputs > 1)) {
      add_names((*metrics)[i], names[i]);
    } else {
      add_names(*metrics, names[i]);
    }
  }
  return names;
}

std::optional<CompiledOptimizer> compiled_optimizer(const json& compile_config) {
  const json* const optimizer = member(compile_config, "optimizer");
  if (optimizer == nullptr) return std::nullopt;
  CompiledOptimizer compiled{name_of(*optimizer), json::object()};
  if (compiled.name.empty()) {
    throw user_error("[keras] the model was compiled with an optimizer that has no name; give train.optimizer.name");
  }
  std::erase(compiled.name, '_');  // of RMSprop
  compiled.config = optimizer->is_string() ? settings_of_text(compiled.name) : config_of(*optimizer);
  return compiled;
}

json compile_config(const Compilation& compilation, const graph::Graph& graph) {
  // Keras calls an output by its layer; a layer with several has one name for all.
  const bool named_alike = std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](int output) {
    return graph.nodes[static_cast<size_t>(output)].op == graph::kPart;
  });
  const auto by_output = [&](const auto& values) {
    if (values.size() == 1) return json(values[0]);
    if (named_alike) return json(values);
    json named = json::object();
    for (size_t i = 0; i < values.size(); ++i) named[output_name(graph, graph.outputs[i])] = values[i];
    return named;
  };
  std::vector<json> losses;
  for (const std::string& loss : compilation.losses) losses.push_back(written_loss(loss, compilation.settings));
  json config{{"loss", by_output(losses)}};
  if (const auto& optimizer = compilation.optimizer) {
    config["optimizer"] = {{"module", "keras.optimizers"},
                           {"class_name", optimizer->keras_class},
                           {"config", optimizer->config},
                           {"registered_name", nullptr}};
  }
  if (compilation.loss_weights.size() > 1) config["loss_weights"] = by_output(compilation.loss_weights);
  if (!compilation.metrics.empty()) config["metrics"] = by_output(written_metrics(compilation.metrics));
  if (!compilation.weighted_metrics.empty())
    config["weighted_metrics"] = by_output(written_metrics(compilation.weighted_metrics));
  return config;
}

}  // namespace linac::keras
