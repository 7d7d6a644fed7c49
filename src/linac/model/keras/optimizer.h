#pragma once
// The state of an optimiser in Keras's files: by place in an archive (archive.h), by name in the HDF5 files of
// Keras 2. Pure, thread-safe; the messages do not name the file.

#include <string>
#include <string_view>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::keras {

/// In a file there are the number of updates ("iteration"), the learning rate ("learning_rate", shape {} both), then
/// what the optimiser keeps for the trained weights, and Nadam's "product". Names are those of optimizer::Optimizer's
/// slots: "momentum", "velocity", "largest_velocity", "mean_gradient", "accumulator", "accumulated_gradient",
/// "accumulated_change".
struct OptimizerVariable {
  std::string name;
  graph::Shape shape;
  std::vector<float> values;
};

/// Where model.weights.h5 has them: "0", "1", ...
inline constexpr const char* kOptimizerGroup = "optimizer/vars";

/// Fills in the values of the variables from the archive's member model.weights.h5. `keras2`: as Keras 2.12 to 2.15
/// wrote them, without learning rate and product, which stay as they are. False if there are none: the model was not
/// trained. User error if there are others.
bool read_archive_optimizer(std::string_view weights, bool keras2, std::vector<OptimizerVariable>& variables);

/// The same from a file of model.save('name.h5'). The variables of one name must follow the trained weights in Keras's
/// order.
bool read_h5_optimizer(std::string_view bytes, std::vector<OptimizerVariable>& variables);

}  // namespace linac::keras
