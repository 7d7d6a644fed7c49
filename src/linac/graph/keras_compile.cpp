#include "linac/graph/keras_compile.h"

#include <fmt/format.h>

#include <cctype>

#include "linac/base/error.h"

namespace linac::graph {
namespace {

// CategoricalCrossentropy -> categorical_crossentropy; KLDivergence -> kl_divergence.
std::string snake_case(const std::string& name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto is_upper = [&](size_t at) {
      return at < name.size() && std::isupper(static_cast<unsigned char>(name[at]));
    };
    const bool starts_word = is_upper(i) && i > 0 && (!is_upper(i - 1) || (i + 1 < name.size() && !is_upper(i + 1)));
    if (starts_word) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return text;
}

std::string loss_name(const nlohmann::json& loss) {
  if (loss.is_string()) return loss.get<std::string>();
  if (loss.is_object() && loss.contains("class_name") && loss["class_name"].is_string()) {
    const nlohmann::json config = loss.value("config", nlohmann::json());
    // A function is {"class_name": "function", "config": its name}.
    if (config.is_string()) return config.get<std::string>();
    if (config.is_object() && (config.value("from_logits", false) || config.value("label_smoothing", 0.0) != 0)) {
      throw user_error(fmt::format(
          "[keras] the model was compiled with a {} that has settings of its own; give train.fit.loss and its settings",
          loss["class_name"].get<std::string>()));
    }
    return snake_case(loss["class_name"].get<std::string>());
  }
  throw user_error("[keras] the model was compiled with a loss that has no name; give train.fit.loss");
}

}  // namespace

std::vector<std::string> compiled_losses(const nlohmann::json& compile_config, const Graph& graph) {
  if (!compile_config.is_object() || !compile_config.contains("loss") || compile_config["loss"].is_null()) return {};
  const nlohmann::json& loss = compile_config["loss"];
  std::vector<std::string> names;
  if (loss.is_array()) {
    for (const auto& one : loss) names.push_back(loss_name(one));
  } else if (loss.is_object() && !loss.contains("class_name")) {
    for (const int output : graph.outputs) {
      const std::string& name = graph.nodes[static_cast<size_t>(output)].name;
      if (!loss.contains(name)) {
        throw user_error(
            fmt::format("[keras] the model was compiled without a loss for output '{}'; give train.fit.loss", name));
      }
      names.push_back(loss_name(loss[name]));
    }
  } else {
    names.push_back(loss_name(loss));
  }
  return names;
}

nlohmann::json compile_config(const std::vector<std::string>& losses, const Graph& graph) {
  nlohmann::json loss = losses.size() == 1 ? nlohmann::json(losses[0]) : nlohmann::json::object();
  for (size_t i = 0; losses.size() > 1 && i < losses.size(); ++i)
    loss[graph.nodes[static_cast<size_t>(graph.outputs[i])].name] = losses[i];
  return {{"optimizer", "adam"}, {"loss", loss}};
}

}  // namespace linac::graph
