#include "linac/graph/weight_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

bool holds_floats_itself(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  return H5Tget_class(type.get()) == H5T_FLOAT && H5Pget_external_count(creation.get()) == 0 &&
         H5Pget_layout(creation.get()) != H5D_VIRTUAL;
}

}  // namespace

std::string write_weight_store(const std::vector<StoredLayer>& layers) {
  const hdf5::Lock lock;
  const Handle access = memory_access();
  const Handle file(H5Fcreate("model.weights.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  if (!file) throw environment_error("[keras] the weights cannot be written in memory");
  make_group(file.get(), "vars");  // of the model itself, which has none
  const Handle all = make_group(file.get(), "layers");
  for (const StoredLayer& layer : layers) {
    const Handle group = make_group(all.get(), layer.group);
    const Handle vars = make_group(group.get(), "vars");
    const auto& weights = layer.node->weights;
    for (size_t i = 0; i < weights.size(); ++i) {
      write_array(vars.get(), fmt::format("{}", i), weights[i].shape, layer.values[i]);
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
  std::vector<std::string> path{"layers", group, "vars"};
  int64_t found = children(file_, path);
  if (found < 0) {
    path[0] = "_layer_checkpoint_dependencies";  // what Keras 2.12 and 2.13 called it
    found = children(file_, path);
  }
  if (found != static_cast<int64_t>(node.weights.size())) {
    throw user_error(fmt::format(
        "[keras] layer '{}' ({}) has {} weights and the file {} in layers/{}/vars; save the whole model, built",
        node.name, node.op, node.weights.size(), found < 0 ? "none" : fmt::format("{}", found), group));
  }
  std::vector<std::vector<float>> values;
  for (size_t i = 0; i < node.weights.size(); ++i) {
    path.resize(3);
    path.push_back(fmt::format("{}", i));
    values.push_back(read_array(path, node, node.weights[i]));
  }
  return values;
}

std::vector<float> WeightStore::read_array(const std::vector<std::string>& path, const Node& node,
                                           const Weight& weight) {
  const auto refuse = [&](const std::string& why) {
    throw user_error(fmt::format("[keras] layer '{}' ({}): weight '{}' ({}) {}", node.name, node.op, weight.name,
                                 fmt::join(path, "/"), why));
  };
  const Handle dataset = open_path(file_, path);
  if (!dataset || H5Iget_type(dataset.get()) != H5I_DATASET) refuse("is missing; save the whole model, built");
  const Shape found = shape_of(dataset.get());
  if (found != weight.shape) {
    refuse(fmt::format("has the shape {} where the layer needs {}", to_string(found), to_string(weight.shape)));
  }
  if (!holds_floats_itself(dataset.get())) refuse("is not an array of floating point numbers; save it as float32");
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
