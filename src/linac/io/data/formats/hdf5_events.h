#pragma once
// Events of HDF5's data sets, whose first axis counts them. For the sources of this module; under hdf5::Lock.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "linac/io/hdf5/handle.h"

namespace linac::data {

/// Data error, which calls the file `name`, when it cannot be opened.
hdf5::Handle open_hdf5(const std::filesystem::path& path, const std::string& name);

/// The part of a data set of these extents that are the events [first, first + count), and memory of its size.
struct EventSpaces {
  EventSpaces(hid_t set, const std::vector<hsize_t>& extents, int64_t first, int64_t count);
  explicit operator bool() const { return selected; }

  hdf5::Handle file, memory;
  bool selected;
};

/// Reads these events as `type`; false if HDF5 fails, and hdf5::last_error() says why.
bool read_events(hid_t set, const std::vector<hsize_t>& extents, hid_t type, int64_t first, int64_t count,
                 void* values);

}  // namespace linac::data
