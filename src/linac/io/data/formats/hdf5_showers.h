#pragma once
// Showers in HDF5: image [events, x, y, z] or [events, x, y, z, 1] in GeV, energy (GeV) and angle (rad) [events] or
// [events, 1], any number type and chunking.

#include "linac/io/data/formats/shower_file.h"

namespace linac::data {

std::unique_ptr<const ShowerFile> open_hdf5_showers(const std::filesystem::path& path, const std::string& name,
                                                    const Fields& fields, const std::optional<FileIndex>& index);

}  // namespace linac::data
