#include "linac/data/shower_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "linac/base/error.h"
#include "linac/data/file_format.h"
#include "linac/data/hdf5_showers.h"
#include "linac/data/tfrecord_showers.h"

namespace linac::data {
std::unique_ptr<const ShowerFile> open_shower_file(const std::filesystem::path& path, const std::string& name,
                                                   const Fields& fields, const std::optional<FileIndex>& index) {
  switch (format_of(path, name)) {
    case FileFormat::kHdf5:
      return open_hdf5_showers(path, name, fields);
    case FileFormat::kParquet:
      throw data_error(fmt::format("[data] {}: a Parquet file; showers are read from HDF5 and TFRecord files", name));
    case FileFormat::kRoot:
      throw data_error(fmt::format("[data] {}: a ROOT file; showers are read from HDF5 and TFRecord files", name));
    case FileFormat::kTfrecord:
      break;
  }
  return open_tfrecord_showers(path, name, index);
}

void check_values(const ShowerBlock& block, const std::string& name, int64_t first_event) {
  const auto fail = [&](int64_t event, const std::string& what) {
    throw data_error(fmt::format("[data] {}: event {}: {}; remove the event or write the file again", name,
                                 first_event + event, what));
  };
  const int64_t cells = block.shape.cells();
  for (int64_t event = 0; event < block.events(); ++event) {
    const float* image = block.image.data() + event * cells;
    // One pass that the compiler can vectorise decides; only a bad event is searched for the culprit.
    bool good = true;
    for (int64_t i = 0; i < cells; ++i) good &= image[i] >= 0 && image[i] <= std::numeric_limits<float>::max();
    for (int64_t i = 0; !good && i < cells; ++i) {
      if (image[i] >= 0 && std::isfinite(image[i])) continue;
      const EventShape& shape = block.shape;
      fail(event, fmt::format("cell ({}, {}, {}) holds {}, not an energy", i / (shape.y * shape.z),
                              i / shape.z % shape.y, i % shape.z, image[i]));
    }
    const auto i = static_cast<size_t>(event);
    if (!std::isfinite(block.energy[i]) || block.energy[i] < 0) {
      fail(event, fmt::format("its primary energy is {}", block.energy[i]));
    }
    if (!std::isfinite(block.angle[i])) fail(event, fmt::format("its angle is {}", block.angle[i]));
  }
}

}  // namespace linac::data
