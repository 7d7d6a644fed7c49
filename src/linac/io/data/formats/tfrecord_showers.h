#pragma once
// Showers in TFRecord files: one tf.train.Example an event with the float lists X (cells, scaled and raised to the
// power), Y (energy in its unit), ang (rad) and ecal (scaled sum before the power). The cells' shape is not part of
// that layout: 65,025 cells are 51x51x25; for others linac adds the integer list `shape`.

#include "linac/io/data/formats/shower_file.h"

namespace linac::data {

std::unique_ptr<const ShowerFile> open_tfrecord_showers(const std::filesystem::path& path, const std::string& name,
                                                        const Fields& fields, const std::optional<FileIndex>& index);

/// One event of a block of samples as a framed record.
std::string encode_tfrecord_shower(const ShowerBlock& block, int64_t event);

}  // namespace linac::data
