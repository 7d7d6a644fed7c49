#include "linac/physics/physics/shower_record.h"

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

// Calls `use` with every list of numbers in the row, in its order.
template <class ShowerType, class Use>
void each_part(ShowerType& shower, const Use& use) {
  use(std::span(&shower.energy_gev, 1));
  use(std::span(&shower.theta, 1));
  use(std::span(shower.values));
  use(std::span(shower.maps.longitudinal));
  use(std::span(shower.maps.transverse_x));
  use(std::span(shower.maps.transverse_y));
  use(std::span(shower.radial));
  use(std::span(shower.spectrum));
  use(std::span(shower.maps.yz));
}

Shower blank(const EventShape& shape) {
  Shower shower;
  shower.maps = Projections(shape.x, shape.y, shape.z);
  shower.maps.events = 1;
  shower.radial = radial_profile(shower.maps.xy, shape.x, shape.y, kRingWidth);
  shower.spectrum.resize(kSpectrumBins);
  return shower;
}

}  // namespace

size_t record_size(const EventShape& shape) {
  const Shower shower = blank(shape);
  size_t size = 0;
  each_part(shower, [&](auto part) { size += part.size(); });
  return size;
}

void to_record(const Shower& shower, std::span<float> row) {
  size_t place = 0;
  each_part(shower, [&](auto part) {
    LINAC_CHECK(place + part.size() <= row.size());
    for (const auto value : part) row[place++] = static_cast<float>(value);
  });
  LINAC_CHECK(place == row.size());
}

Shower from_record(std::span<const float> row, const EventShape& shape) {
  Shower shower = blank(shape);
  size_t place = 0;
  each_part(shower, [&](auto part) {
    LINAC_CHECK(place + part.size() <= row.size());
    std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(place), part.size(), part.begin());
    place += part.size();
  });
  return shower;
}

}  // namespace linac::physics
