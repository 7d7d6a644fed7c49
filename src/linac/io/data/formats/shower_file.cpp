#include "linac/io/data/formats/shower_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/base/base/float_clones.h"
#include "linac/io/data/cache/packed_showers.h"
#include "linac/io/data/cache/shower_copy.h"
#include "linac/io/data/formats/table.h"

namespace linac::data {

std::unique_ptr<const ShowerFile> open_shower_file(const std::filesystem::path& path, const std::string& name,
                                                   const Fields& fields, const std::optional<FileIndex>& index) {
  if (is_packed_showers(path)) return open_packed_showers(path, name, [name] { return shower_copy(name); });
  const Format& format = format_of(*storage::Source::of_file(path, name));
  if (format.showers == nullptr)
    throw data_error(
        fmt::format("[data] {}: a {} file; showers are read from {} files", name, format.words, formats_of_showers()));
  return format.showers(path, name, fields, index);
}

bool ShowerFile::read_filled(int64_t, ShowerBlock&) const {
  return false;
}

void SampleFile::read(int64_t first, int64_t count, ShowerBlock& out) const {
  LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
  out.resize(count, shape(), Units::kSamples);
  for (int64_t i = 0; i < count; ++i)
    read_sample(first + i, {out.image.data() + i * out.shape.cells(), &out.energy[static_cast<size_t>(i)],
                            &out.angle[static_cast<size_t>(i)], &out.ecal[static_cast<size_t>(i)]});
}

// One pass without a branch, so that the compiler can vectorise.
LINAC_FLOAT_CLONES bool are_energies(std::span<const float> cells) {
  int bad = 0;
  for (const float cell : cells) bad |= static_cast<int>(!(cell >= 0 && cell <= std::numeric_limits<float>::max()));
  return bad == 0;
}

namespace {

[[noreturn]] void refuse(const std::string& name, int64_t event, const std::string& what) {
  throw data_error(fmt::format("[data] {}: event {}: {}; remove the event or write the file again", name, event, what));
}

}  // namespace

void check_numbers(const ShowerBlock& block, int64_t event, const std::string& name, int64_t number) {
  const auto i = static_cast<size_t>(event);
  if (!std::isfinite(block.energy[i]) || block.energy[i] < 0)
    refuse(name, number, fmt::format("its primary energy is {}", block.energy[i]));
  if (!std::isfinite(block.angle[i])) refuse(name, number, fmt::format("its angle is {}", block.angle[i]));
  const size_t numbers = block.numbers.size() / block.energy.size();
  for (const float value : std::span(block.numbers).subspan(i * numbers, numbers))
    if (!std::isfinite(value)) refuse(name, number, fmt::format("one of its numbers is {}", value));
}

void check_values(const ShowerBlock& block, const std::string& name, int64_t first_event) {
  const int64_t cells = block.shape.cells();
  for (int64_t event = 0; event < block.events(); ++event) {
    const float* image = block.image.data() + event * cells;
    // Only a bad event is searched for the culprit.
    const bool good = are_energies({image, static_cast<size_t>(cells)});
    for (int64_t i = 0; !good && i < cells; ++i) {
      if (image[i] >= 0 && std::isfinite(image[i])) continue;
      const EventShape& shape = block.shape;
      refuse(name, first_event + event,
             fmt::format("cell ({}, {}, {}) holds {}, not an energy", i / (shape.y * shape.z), i / shape.z % shape.y,
                         i % shape.z, image[i]));
    }
    check_numbers(block, event, name, first_event + event);
  }
}

}  // namespace linac::data
