#pragma once
// Number types of Arrow and of HDF5. For the sources of this module only: needs Arrow's headers. Call them under
// hdf5::Lock.

#include <arrow/api.h>

#include <memory>

#include "linac/io/hdf5/handle.h"

namespace linac::data {

/// Of numbers as they are stored; null without a type in Arrow.
std::shared_ptr<arrow::DataType> arrow_type_of(hid_t stored);

/// Numbers as Arrow has them in memory, but for booleans, which take a byte; also how they are stored. `type` is one
/// that arrow_type_of() returns.
hdf5::Handle hdf5_type_of(const arrow::DataType& type);

}  // namespace linac::data
