#include "linac/graph/weight_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "linac/base/error.h"
#include "linac/hdf5/handle.h"

namespace linac::graph {
namespace {

using hdf5::Handle;

constexpr size_t kImageIncrementBytes = size_t{1} << 20;  // growth of the file in memory
constexpr int kRankMax = 32;                              // HDF5's own limit
// An array may state a shape and store almost nothing. All weights together may take this many times the file ...
constexpr int64_t kExpansionMax = 100;
// ... but small models always pass.
constexpr int64_t kExpansionFloorBytes = int64_t{64} << 20;

Handle memory_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  LINAC_CHECK(H5Pset_fapl_core(access.get(), kImageIncrementBytes, 0) >= 0);
  return access;
}

Handle make_group(hid_t parent, const std::string& name) {
  Handle group(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group) throw environment_error(fmt::format("[keras] group '{}' cannot be made in memory", name));
  return group;
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path);
  for (std::string part; std::getline(stream, part, '/');) parts.push_back(part);
  return parts;
}

Handle open_or_make_group(hid_t parent, const std::string& name) {
  if (H5Lexists(parent, name.c_str(), H5P_DEFAULT) > 0) return {H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose};
  return make_group(parent, name);
}

Handle make_path(hid_t file, const std::string& path) {
  Handle current(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
  for (const std::string& part : parts_of(path)) current = open_or_make_group(current.get(), part);
  return current;
}

/// Name of each weight's array: its group below the layer's, and its number there.
std::vector<std::string> array_paths(const std::string& group, const Node& node) {
  std::map<std::string, int> count;
  std::vector<std::string> paths;
  for (const Weight& weight : node.weights)
    paths.push_back(fmt::format("{}/{}/{}", group, weight.group, count[weight.group]++));
  return paths;
}

void write_array(hid_t group, const std::string& name, const Shape& shape, const std::vector<float>& values) {
  LINAC_CHECK(static_cast<int64_t>(values.size()) == elements(shape));
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
  const Handle creation = hdf5::timeless_creation();
  const Handle dataset(
      H5Dcreate2(group, name.c_str(), H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Dclose);
  if (!dataset || H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    throw environment_error("[keras] the weights cannot be written in memory");
  }
}

// Opens a direct member of `parent`. Links that lead elsewhere (another file, another place) are not followed.
Handle open_child(hid_t parent, const std::string& name) {
  H5L_info_t info;
  if (H5Lexists(parent, name.c_str(), H5P_DEFAULT) <= 0 || H5Lget_info(parent, name.c_str(), &info, H5P_DEFAULT) < 0 ||
      info.type != H5L_TYPE_HARD) {
    return {-1, H5Oclose};
  }
  return {H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose};
}

Handle open_path(hid_t file, const std::vector<std::string>& path) {
  Handle current = open_child(file, path[0]);
  for (size_t i = 1; i < path.size() && current; ++i) {
    if (H5Iget_type(current.get()) != H5I_GROUP) return {-1, H5Oclose};
    current = open_child(current.get(), path[i]);
  }
  return current;
}

Shape shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  hsize_t extents[kRankMax];
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0 || rank > kRankMax || H5Sget_simple_extent_dims(space.get(), extents, nullptr) < 0) return {-1};
  return {extents, extents + rank};
}

// -1 if there is no such group.
int64_t children(hid_t file, const std::vector<std::string>& path) {
  const Handle group = open_path(file, path);
  H5G_info_t info;
  if (!group || H5Iget_type(group.get()) != H5I_GROUP || H5Gget_info(group.get(), &info) < 0) return -1;
  return static_cast<int64_t>(info.nlinks);
}

/// Integers are welcome where a weight is not trained: Keras counts in them.
bool holds_numbers_itself(hid_t dataset, bool trainable) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  return (kind == H5T_FLOAT || (kind == H5T_INTEGER && !trainable)) && H5Pget_external_count(creation.get()) == 0 &&
         H5Pget_layout(creation.get()) != H5D_VIRTUAL;
}

}  // namespace

std::string write_weight_store(const std::vector<StoredLayer>& layers) {
  const hdf5::Lock lock;
  const Handle access = memory_access();
  const Handle file(H5Fcreate("model.weights.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  if (!file) throw environment_error("[keras] the weights cannot be written in memory");
  make_group(file.get(), "vars");  // of the model itself, which has none
  make_group(file.get(), "layers");
  for (const StoredLayer& layer : layers) {
    make_path(file.get(), layer.group + "/vars");
    const std::vector<std::string> paths = array_paths(layer.group, *layer.node);
    for (size_t i = 0; i < paths.size(); ++i) {
      const size_t name = paths[i].rfind('/');
      const Handle group = make_path(file.get(), paths[i].substr(0, name));
      write_array(group.get(), paths[i].substr(name + 1), layer.node->weights[i].shape, layer.values[i]);
    }
  }
  std::string bytes;
  if (H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0) {
    const ssize_t size = H5Fget_file_image(file.get(), nullptr, 0);
    if (size > 0) bytes.resize(static_cast<size_t>(size));
  }
  if (bytes.empty() || H5Fget_file_image(file.get(), bytes.data(), bytes.size()) < 0) {
    throw environment_error("[keras] the weights cannot be written in memory");
  }
  return bytes;
}

WeightStore::WeightStore(std::string_view bytes)
    : budget_bytes_(std::max(kExpansionFloorBytes, kExpansionMax * static_cast<int64_t>(bytes.size()))) {
  const hdf5::Lock lock;
  const Handle access = memory_access();
  // HDF5 takes a mutable pointer, and copies from it.
  void* const image = const_cast<char*>(bytes.data());
  if (!bytes.empty() && H5Pset_file_image(access.get(), image, bytes.size()) >= 0) {
    file_ = H5Fopen("model.weights.h5", H5F_ACC_RDONLY, access.get());
  }
  if (file_ < 0) {
    throw user_error(
        fmt::format("[keras] model.weights.h5 is not a readable HDF5 file ({} bytes); is it complete?", bytes.size()));
  }
}

WeightStore::~WeightStore() {
  const hdf5::Lock lock;
  H5Fclose(file_);
}

std::vector<std::vector<float>> WeightStore::read(const std::string& group, const Node& node) {
  if (node.weights.empty()) return {};
  const hdf5::Lock lock;
  std::string place = group;
  const std::string layers = "layers", layers_before = "_layer_checkpoint_dependencies";  // of Keras 2.12 and 2.13
  if (children(file_, {layers_before}) >= 0 && children(file_, {layers}) < 0 && place.starts_with(layers))
    place.replace(0, layers.size(), layers_before);
  std::map<std::string, int64_t> expected;
  for (const Weight& weight : node.weights) ++expected[place + "/" + weight.group];
  for (const auto& [path, count] : expected) {
    const int64_t found = children(file_, parts_of(path));
    if (found == count) continue;
    throw user_error(
        fmt::format("[keras] layer '{}' ({}) has {} weights and the file {} in {}; save the whole model, built",
                    node.name, node.op, count, found < 0 ? "none" : fmt::format("{}", found), path));
  }
  std::vector<std::vector<float>> values;
  const std::vector<std::string> paths = array_paths(place, node);
  for (size_t i = 0; i < paths.size(); ++i) values.push_back(read_array(paths[i], node, node.weights[i]));
  return values;
}

std::vector<float> WeightStore::read_array(const std::string& path, const Node& node, const Weight& weight) {
  const auto refuse = [&](const std::string& why) {
    throw user_error(
        fmt::format("[keras] layer '{}' ({}): weight '{}' ({}) {}", node.name, node.op, weight.name, path, why));
  };
  const Handle dataset = open_path(file_, parts_of(path));
  if (!dataset || H5Iget_type(dataset.get()) != H5I_DATASET) refuse("is missing; save the whole model, built");
  const Shape found = shape_of(dataset.get());
  if (found != weight.shape) {
    refuse(fmt::format("has the shape {} where the layer needs {}", to_string(found), to_string(weight.shape)));
  }
  if (!holds_numbers_itself(dataset.get(), weight.trainable))
    refuse("is not an array of floating point numbers; save it as float32");
  // A product of checked factors: each partial product stays within the budget.
  int64_t bytes = static_cast<int64_t>(sizeof(float));
  for (const int64_t extent : weight.shape) {
    if (extent > 0 && bytes > budget_bytes_ / extent) refuse("is larger than the file can hold");
    bytes *= extent;
  }
  budget_bytes_ -= bytes;
  std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float));
  if (H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    refuse("cannot be read; is the file complete?");
  }
  return values;
}

}  // namespace linac::graph
