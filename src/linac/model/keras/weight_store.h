#pragma once
// The member model.weights.h5 of a Keras archive: an HDF5 file in memory with one group a layer, "layers/conv3d_1", and
// in it groups ("vars", or "cell/vars") that hold the layer's arrays "0", "1", ... in Keras's order. Safe from several
// threads: they take turns at HDF5.

#include <string>
#include <string_view>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/keras/archive.h"
#include "linac/model/keras/config.h"
#include "linac/model/keras/hdf5_image.h"

namespace linac::keras {

/// The weights of one layer in the file.
struct StoredLayer {
  std::string group;                 // "layers/conv3d_1": class name and count, which is how Keras finds the weights
  const graph::Node* node;           // borrowed: names, shapes
  const std::vector<float>* values;  // borrowed: one buffer a weight of the node
};

/// The file's bytes; the same layers give the same bytes. `optimizer`: its variables; the first is written as an
/// integer.
std::string write_weight_store(const std::vector<StoredLayer>& layers,
                               const std::vector<OptimizerVariable>& optimizer = {});

/// Reads such a file.
class WeightStore {
 public:
  /// Copies the bytes. User error if they are not HDF5.
  explicit WeightStore(std::string_view bytes);

  /// Of every node of the model.
  graph::WeightValues read_all(const KerasConfig& config);

  /// Values of the weights of `node` from `group`, converted to float32. User error naming the layer if an array is
  /// missing or not numbers, or of another shape, or if there are others.
  std::vector<std::vector<float>> read(const std::string& group, const graph::Node& node);

 private:
  std::string place_of(const std::string& group) const;
  std::string nth_group(const std::string& parent, const std::string& name) const;

  Hdf5Image file_;
};

}  // namespace linac::keras
