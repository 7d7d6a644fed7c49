#pragma once
// Texts as HDF5 stores them. Pure, thread-safe.

#include <string>

#include "linac/io/hdf5/handle.h"

namespace linac::data {

/// A text of fixed length without its padding.
std::string unpadded(const char* text, size_t size, H5T_str_t padding);

}  // namespace linac::data
