#pragma once
// Small HDF5 files of float arrays, to talk to the Python peers. Failures abort: these are test programs.

#include <hdf5.h>

#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/error.h"

/// Written anew; groups on the way to a name are made.
class FloatFile {
 public:
  explicit FloatFile(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
    LINAC_CHECK(file_ >= 0);
  }
  ~FloatFile() { H5Fclose(file_); }
  FloatFile(const FloatFile&) = delete;
  FloatFile& operator=(const FloatFile&) = delete;

  void write(const std::string& name, const std::vector<int64_t>& shape, std::span<const float> values) {
    LINAC_CHECK(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()) ==
                static_cast<int64_t>(values.size()));
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    const hid_t links = H5Pcreate(H5P_LINK_CREATE),
                space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t set = H5Dcreate2(file_, name.c_str(), H5T_NATIVE_FLOAT, space, links, H5P_DEFAULT, H5P_DEFAULT);
    LINAC_CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(links);
  }

 private:
  hid_t file_;
};

struct FloatArray {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

inline FloatArray read_floats(const std::string& path, const std::string& name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  LINAC_CHECK(file >= 0);
  const hid_t set = H5Dopen2(file, name.c_str(), H5P_DEFAULT), space = H5Dget_space(set);
  LINAC_CHECK(set >= 0 && space >= 0);
  std::vector<hsize_t> extents(static_cast<size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  FloatArray array;
  array.shape.assign(extents.begin(), extents.end());
  array.values.resize(static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
  LINAC_CHECK(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) >= 0);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  return array;
}
