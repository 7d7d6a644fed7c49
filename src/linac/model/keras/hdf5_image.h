#pragma once
// An HDF5 file in memory that others wrote, read by path and name. It trusts no size in it: memory is taken for what
// the model needs, and all arrays together for no more than a hundred times the file's size. Links out of the file are
// not followed. Safe from several threads: they take turns at HDF5.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::keras {

/// "layers/dense//vars" -> layers, dense, vars.
std::vector<std::string> hdf5_path_parts(const std::string& path);

/// Whether these are the first bytes of an HDF5 file.
bool is_hdf5(std::string_view first_bytes);

class Hdf5Image {
 public:
  /// Copies the bytes. User error if they are not HDF5; it calls them `what`.
  Hdf5Image(std::string_view bytes, const std::string& what);
  ~Hdf5Image();
  Hdf5Image(const Hdf5Image&) = delete;
  Hdf5Image& operator=(const Hdf5Image&) = delete;

  /// How many members the group has; -1 if there is no such group. "": the root.
  int64_t children(const std::string& group) const;

  /// An attribute that is one string or a list of strings; nothing if the group or the attribute is absent. User error
  /// if it is something else.
  std::optional<std::vector<std::string>> strings(const std::string& group, const std::string& attribute) const;

  /// The same of a list that Keras split, since attributes end at 64 KB: weight_names0, weight_names1, ...
  std::optional<std::vector<std::string>> list(const std::string& group, const std::string& attribute) const;

  /// The values of `weight` of `node` from the data set `path`, converted to float32. User error naming the layer if it
  /// is missing, not numbers, or of another shape.
  std::vector<float> read_array(const std::string& path, const graph::Node& node, const graph::Weight& weight);

 private:
  int64_t file_ = -1;  // HDF5 identifier
  int64_t file_bytes_;
  int64_t budget_bytes_;
};

}  // namespace linac::keras
