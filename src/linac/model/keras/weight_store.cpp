#include "linac/model/keras/weight_store.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/io/hdf5/handle.h"
#include "linac/model/keras/float_twins.h"

namespace linac::keras {
namespace {

using hdf5::Handle;

Handle make_group(hid_t parent, const std::string& name) {
  Handle group(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group) throw environment_error(fmt::format("[keras] group '{}' cannot be made in memory", name));
  return group;
}

Handle open_or_make_group(hid_t parent, const std::string& name) {
  if (H5Lexists(parent, name.c_str(), H5P_DEFAULT) > 0) return {H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose};
  return make_group(parent, name);
}

Handle make_path(hid_t file, const std::string& path) {
  Handle current(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
  for (const std::string& part : hdf5_path_parts(path)) current = open_or_make_group(current.get(), part);
  return current;
}

/// Name of each weight's array: its group below the layer's, and its number there.
std::vector<std::string> array_paths(const std::string& group, const graph::Node& node) {
  std::map<std::string, int> count;
  std::vector<std::string> paths;
  for (const graph::Weight& weight : node.weights)
    paths.push_back(fmt::format("{}/{}/{}", group, weight.group, count[weight.group]++));
  return paths;
}

void write_array(hid_t group, const std::string& name, const graph::Shape& shape, const std::vector<float>& values,
                 hid_t type = H5T_IEEE_F32LE) {
  LINAC_CHECK(static_cast<int64_t>(values.size()) == graph::elements(shape));
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
  const Handle creation = hdf5::timeless_creation();
  const Handle dataset(H5Dcreate2(group, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                       H5Dclose);
  if (!dataset || H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    throw environment_error("[keras] the weights cannot be written in memory");
  }
}

}  // namespace

std::string write_weight_store(const std::vector<StoredLayer>& layers,
                               const std::vector<OptimizerVariable>& optimizer) {
  const hdf5::Lock lock;
  const Handle access = hdf5::memory_access();
  const Handle file(H5Fcreate(hdf5::memory_file().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
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
  if (!optimizer.empty()) {
    const Handle group = make_path(file.get(), kOptimizerGroup);
    for (size_t i = 0; i < optimizer.size(); ++i) {
      write_array(group.get(), fmt::format("{}", i), optimizer[i].shape, optimizer[i].values,
                  i == 0 ? H5T_STD_I64LE : H5T_IEEE_F32LE);
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

WeightStore::WeightStore(std::string_view bytes) : file_(bytes, "model.weights.h5") {}

graph::WeightValues WeightStore::read_all(const KerasConfig& config) {
  graph::WeightValues all;
  for (size_t i = 0; i < config.graph.nodes.size(); ++i) {  // another call of a layer has none of its own
    for (auto& values : read(config.groups[i], config.graph.nodes[i])) all.values.push_back(std::move(values));
  }
  return all;
}

// Keras 2.12 and 2.13 call the list of layers otherwise, and leave numbers out: "dense", "dense_2". What counts is the
// order.
std::string WeightStore::place_of(const std::string& group) const {
  const std::string layers = "layers", layers_before = "_layer_checkpoint_dependencies";
  std::string place;
  const std::vector<std::string> parts = hdf5_path_parts(group);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string before = place + layers_before;
    if (parts[i] == layers && i + 1 < parts.size() && file_.children(place + layers) < 0 &&
        file_.children(before) >= 0) {
      place = fmt::format("{}/{}/", before, nth_group(before, parts[++i]));
    } else {
      place += parts[i] + "/";
    }
  }
  place.pop_back();
  return place;
}

// "dense_1" is the second of the groups "dense", "dense_N" that are there; no layer skips more than one number.
std::string WeightStore::nth_group(const std::string& parent, const std::string& name) const {
  const size_t last = name.rfind('_');
  const bool numbered = last != std::string::npos && last + 1 < name.size() && last + 8 > name.size() &&
                        name.find_first_not_of("0123456789", last + 1) == std::string::npos;
  int missing = numbered ? std::stoi(name.substr(last + 1)) : 0;
  const std::string base = numbered ? name.substr(0, last) : name;
  const int numbers = 2 * missing;
  for (int i = 0; i <= numbers; ++i) {
    const std::string candidate = i == 0 ? base : fmt::format("{}_{}", base, i);
    if (file_.children(fmt::format("{}/{}", parent, candidate)) >= 0 && missing-- == 0) return candidate;
  }
  return name;
}

std::vector<std::vector<float>> WeightStore::read(const std::string& group, const graph::Node& node) {
  if (node.weights.empty()) return {};
  const std::string place = place_of(group);
  graph::Node stored = node;
  if (node.op == "MultiHeadAttention" && file_.children(place + "/_query_dense") >= 0) {
    for (graph::Weight& weight : stored.weights) weight.group = fmt::format("_{}", weight.group);
  }
  std::map<std::string, int64_t> expected;
  for (const graph::Weight& weight : stored.weights) ++expected[place + "/" + weight.group];
  for (const auto& [path, count] : expected) {
    const int64_t found = file_.children(path);
    // Behind the weights of a quantized layer are those of its training.
    if (found == count || (found > count && is_float_twin(node))) continue;
    throw user_error(
        fmt::format("[keras] layer '{}' ({}) has {} weights and the file {} in {}; save the whole model, built",
                    node.name, node.op, count, found < 0 ? "none" : fmt::format("{}", found), path));
  }
  std::vector<std::vector<float>> values;
  const std::vector<std::string> paths = array_paths(place, stored);
  for (size_t i = 0; i < paths.size(); ++i) values.push_back(file_.read_array(paths[i], node, node.weights[i]));
  return values;
}

}  // namespace linac::keras
