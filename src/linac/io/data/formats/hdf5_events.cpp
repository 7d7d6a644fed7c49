#include "linac/io/data/formats/hdf5_events.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"

namespace linac::data {

using hdf5::Handle;

Handle open_hdf5(const std::filesystem::path& path, const std::string& name) {
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file) throw data_error(fmt::format("[hdf5] {}: cannot be opened as HDF5 ({})", name, hdf5::last_error()));
  return file;
}

EventSpaces::EventSpaces(hid_t set, const std::vector<hsize_t>& extents, int64_t first, int64_t count)
    : file(H5Dget_space(set), H5Sclose) {
  std::vector<hsize_t> start(extents.size(), 0), extent = extents;
  start[0] = static_cast<hsize_t>(first);
  extent[0] = static_cast<hsize_t>(count);
  memory = Handle(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
  selected = file && memory &&
             H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) >= 0;
}

bool read_events(hid_t set, const std::vector<hsize_t>& extents, hid_t type, int64_t first, int64_t count,
                 void* values) {
  std::string why;
  {
    const EventSpaces spaces(set, extents, first, count);
    if (spaces && H5Dread(set, type, spaces.memory.get(), spaces.file.get(), H5P_DEFAULT, values) >= 0) return true;
    why = hdf5::read_error(set);
  }
  hdf5::restore_error(why);
  return false;
}

}  // namespace linac::data
