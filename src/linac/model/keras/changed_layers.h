#pragma once
// A model of a file with other settings of its layers: what a job says in model.layers, and a study searches. Pure,
// thread-safe.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "linac/model/keras/archive.h"

namespace linac::keras {

/// By layer and setting, as Keras calls them. A value is JSON ("64", "true", "[3, 3]"), any other text itself ("relu").
using LayerSettings = std::map<std::string, std::map<std::string, std::string>>;

struct ChangedModel {
  KerasModel model;
  std::vector<std::string> drawn;  // the layers whose weights do not come from the file
};

/// All calls of a layer change with it. The weights of the file stay, but of layers that have other shapes now, or
/// another initializer: these are drawn as graph::initialize draws with that seed. User error naming layer and setting
/// for what is not there or does not fit the layers behind, and for a layer of statistics of the data (Normalization)
/// that would have another size.
ChangedModel with_layer_settings(KerasModel model, const LayerSettings& settings, uint64_t seed);

}  // namespace linac::keras
