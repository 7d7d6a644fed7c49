#include "linac/model/keras/h5.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/base/base/error.h"
#include "linac/base/base/python_json.h"
#include "linac/model/keras/compile.h"
#include "linac/model/keras/keras2_weights.h"
#include "linac/model/keras/weight_store.h"

namespace linac::keras {
namespace {

using nlohmann::json;

std::optional<std::string> root_text(const Hdf5Image& file, const std::string& attribute) {
  const auto parts = file.strings("", attribute);
  return parts ? std::optional(fmt::format("{}", fmt::join(*parts, ""))) : std::nullopt;
}

json training_config_of(const Hdf5Image& file) {
  const auto text = root_text(file, "training_config");
  if (!text) return nullptr;
  json config = json::parse(plain_json(*text), nullptr, false);
  if (!config.is_object()) throw user_error("[keras] its training_config is not JSON; is the file complete?");
  return config;
}

bool has_layout_of_keras3(const Hdf5Image& file) {
  return file.children("layers") >= 0 || file.children("_layer_checkpoint_dependencies") >= 0;
}

}  // namespace

KerasModel read_keras_h5(std::string_view bytes) {
  Hdf5Image file(bytes, "the file");
  const auto group = find_keras2_weights(file);
  const auto text = root_text(file, "model_config");
  if (!text) {
    throw user_error(group || has_layout_of_keras3(file)
                         ? "[keras] holds weights only; give the architecture too (model.to_json() in a file): "
                           "model.json+weights.h5"
                         : "[keras] holds no Keras model (no attribute 'model_config'); save it with model.save()");
  }
  if (!group) throw user_error("[keras] has no list of layers ('layer_names'); is the file complete?");
  KerasConfig config = read_keras_config(*text, root_text(file, "keras_version").value_or("2."));
  KerasModel model;
  model.weights = read_keras2_weights(file, *group, config);
  model.order = weight_order(config);
  model.graph = std::move(config.graph);
  model.compile = modern_compile_config(training_config_of(file), model.graph);
  return model;
}

graph::WeightValues read_keras_weights(std::string_view bytes, const KerasConfig& config) {
  Hdf5Image file(bytes, "the file");
  if (const auto group = find_keras2_weights(file)) return read_keras2_weights(file, *group, config);
  if (!has_layout_of_keras3(file))
    throw user_error("[keras] holds no weights of Keras; save them with model.save_weights('name.weights.h5')");
  return WeightStore(bytes).read_all(config);
}

}  // namespace linac::keras
