#pragma once
// For tests only: HDF5 files in the layout of Keras 2, in memory.

#include <hdf5.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/io/hdf5/handle.h"
#include "linac/model/graph/graph.h"

namespace linac::keras {

struct Keras2Array {
  std::string name;  // "dense/kernel:0"
  graph::Shape shape;
  float first;  // its values count up from here
};

struct Keras2Layer {
  std::string name;
  std::vector<Keras2Array> arrays;
};

struct Keras2File {
  std::map<std::string, std::string> attributes;  // of the file: model_config, ...
  std::string group = "model_weights";            // of the layers; "": the root
  std::vector<Keras2Layer> layers;
  size_t names_a_part = 0;               // splits the lists of names; 0: whole
  std::vector<Keras2Array> optimizer{};  // none: the group is left out

  std::string bytes() const;
};

namespace keras2_file {

using hdf5::Handle;

inline void write_text(hid_t place, const std::string& name, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  const Handle made(H5Acreate2(place, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* const value = text.c_str();
  H5Awrite(made.get(), type.get(), &value);
}

inline void write_names(hid_t place, const std::string& name, const std::vector<std::string>& names) {
  size_t longest = 1;
  for (const std::string& one : names) longest = std::max(longest, one.size());
  std::string padded;
  for (const std::string& one : names) padded += one + std::string(longest - one.size(), '\0');
  const hsize_t count = names.size();
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  H5Tset_size(type.get(), longest);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  const Handle made(H5Acreate2(place, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (count > 0) H5Awrite(made.get(), type.get(), padded.data());
}

inline void write_list(hid_t place, const std::string& name, const std::vector<std::string>& names, size_t a_part) {
  if (a_part == 0) return write_names(place, name, names);
  for (size_t i = 0; i * a_part < names.size(); ++i) {
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(i * a_part);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), (i + 1) * a_part));
    write_names(place, name + std::to_string(i), {begin, end});
  }
}

inline void write_layer(hid_t root, const std::string& path, const Keras2Layer& layer, size_t names_a_part) {
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links.get(), 1);
  const Handle group(H5Gcreate2(root, path.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  std::vector<std::string> names;
  for (const Keras2Array& array : layer.arrays) {
    names.push_back(array.name);
    std::vector<float> values(static_cast<size_t>(graph::elements(array.shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = array.first + static_cast<float>(i);
    const std::vector<hsize_t> extents(array.shape.begin(), array.shape.end());
    const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
    const Handle set(
        H5Dcreate2(group.get(), array.name.c_str(), H5T_IEEE_F32LE, space.get(), links.get(), H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
    H5Dwrite(set.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  write_list(group.get(), "weight_names", names, names_a_part);
}

}  // namespace keras2_file

inline std::string Keras2File::bytes() const {
  const hdf5::Lock lock;
  const hdf5::Handle access = hdf5::memory_access();
  const hdf5::Handle file(H5Fcreate("model.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  const hdf5::Handle root(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose);
  for (const auto& [name, text] : attributes) keras2_file::write_text(root.get(), name, text);
  std::vector<std::string> names;
  for (const Keras2Layer& layer : layers) {
    names.push_back(layer.name);
    keras2_file::write_layer(root.get(), group.empty() ? layer.name : group + "/" + layer.name, layer, names_a_part);
  }
  if (!optimizer.empty()) keras2_file::write_layer(root.get(), "optimizer_weights", {"", optimizer}, names_a_part);
  const hdf5::Handle place(H5Oopen(root.get(), group.empty() ? "/" : group.c_str(), H5P_DEFAULT), H5Oclose);
  if (place) keras2_file::write_list(place.get(), "layer_names", names, names_a_part);
  H5Fflush(file.get(), H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file.get(), nullptr, 0);
  LINAC_CHECK(size > 0);
  std::string bytes(static_cast<size_t>(size), '\0');
  LINAC_CHECK(H5Fget_file_image(file.get(), bytes.data(), bytes.size()) == size);
  return bytes;
}

}  // namespace linac::keras
