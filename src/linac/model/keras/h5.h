#pragma once
// Models outside the archive of Keras 3: the whole-model HDF5 file of Keras 2, and an architecture in JSON with a file
// of weights. Pure, thread-safe; the messages do not name the file.

#include <string>
#include <string_view>

#include "linac/model/keras/archive.h"
#include "linac/model/keras/config.h"

namespace linac::keras {

/// The bytes of what model.save('name.h5') wrote. User error if they hold no model, or weights only.
KerasModel read_keras_h5(std::string_view bytes);

/// The bytes of what model.save_weights() wrote, in the layout of Keras 2 or 3, for the model of model.to_json().
graph::WeightValues read_keras_weights(std::string_view bytes, const KerasConfig& config);

}  // namespace linac::keras
