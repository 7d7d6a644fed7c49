#pragma once
// Weights in the HDF5 layout of Keras 2 (and of Keras 3's older format): a group for each layer of the whole model with
// the list "weight_names", first what is trained, then the rest; a model used as a layer is one group. The lists of
// layers and weights may be split: layer_names0, layer_names1, ... Thread-safe for different files.

#include <string>

#include "linac/model/keras/config.h"
#include "linac/model/keras/hdf5_image.h"

namespace linac::keras {

/// The group that holds the layers: "" or "model_weights"; nothing if the file has another layout.
std::optional<std::string> find_keras2_weights(const Hdf5Image& file);

/// Of every node of the model. User error naming the layer if weights are missing, too many, of another name or shape,
/// or if the file has weights of layers that the model lacks.
graph::WeightValues read_keras2_weights(Hdf5Image& file, const std::string& group, const KerasConfig& config);

}  // namespace linac::keras
