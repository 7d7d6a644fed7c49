#pragma once
// LZF, the packing of h5py's compression="lzf", which HDF5 itself does not have. Thread-safe.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace linac::hdf5 {

/// What was packed; nothing if these are no such bytes. Each byte stands for less than 90 at most.
std::optional<std::vector<std::byte>> unpack_lzf(std::span<const std::byte> packed);

/// Lets HDF5 read data sets that are packed so. Once a process.
void register_lzf();

}  // namespace linac::hdf5
