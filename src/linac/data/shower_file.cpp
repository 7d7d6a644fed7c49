#include "linac/data/shower_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

#include "linac/base/error.h"
#include "linac/data/hdf5_showers.h"
#include "linac/data/tfrecord_showers.h"

namespace linac::data {
namespace {

constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kGzipSignature("\x1f\x8b", 2);
constexpr std::string_view kRootSignature("root", 4);
constexpr std::string_view kParquetSignature("PAR1", 4);
constexpr size_t kSignatureBytesMax = 8;

std::string first_bytes(const std::filesystem::path& path, const std::string& name) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw environment_error(fmt::format("[data] {}: cannot be opened ({}); check that it is there and readable", name,
                                        std::strerror(errno)));
  }
  std::array<char, kSignatureBytesMax> bytes{};
  stream.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<size_t>(stream.gcount())};
}

}  // namespace

std::unique_ptr<const ShowerFile> open_shower_file(const std::filesystem::path& path, const std::string& name,
                                                   const Fields& fields, const std::optional<FileIndex>& index) {
  const std::string start = first_bytes(path, name);
  if (start.empty()) throw data_error(fmt::format("[data] {}: the file is empty; copy or write it again", name));
  if (start.starts_with(kHdf5Signature)) return open_hdf5_showers(path, name, fields);
  if (start.starts_with(kGzipSignature)) {
    throw data_error(fmt::format(
        "[data] {}: compressed as a whole, so events cannot be picked from it; unpack it with gunzip", name));
  }
  for (const auto& [signature, format] : {std::pair(kRootSignature, "ROOT"), std::pair(kParquetSignature, "Parquet")}) {
    if (start.starts_with(signature)) {
      throw data_error(
          fmt::format("[data] {}: a {} file; showers are read from HDF5 and TFRecord files", name, format));
    }
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
