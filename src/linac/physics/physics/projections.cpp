#include "linac/physics/physics/projections.h"

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

void add_to(std::vector<double>& sum, const std::vector<double>& terms) {
  std::transform(sum.begin(), sum.end(), terms.begin(), sum.begin(), std::plus<>());
}

}  // namespace

Projections::Projections(int64_t x, int64_t y, int64_t z) : x(x), y(y), z(z) {
  LINAC_CHECK(x > 0 && y > 0 && z > 0);
  xy.resize(static_cast<size_t>(x * y));
  xz.resize(static_cast<size_t>(x * z));
  yz.resize(static_cast<size_t>(y * z));
  derive_profiles();
}

void Projections::clear() {
  events = 0;
  for (auto* values : {&xy, &xz, &yz, &longitudinal, &transverse_x, &transverse_y})
    std::fill(values->begin(), values->end(), 0.0);
}

void Projections::add(std::span<const float> images) {
  const auto cells = static_cast<size_t>(x * y * z);
  LINAC_CHECK(cells > 0 && images.size() % cells == 0);
  for (size_t first = 0; first < images.size(); first += cells) {
    add_image(images.data() + first);
    ++events;
  }
  derive_profiles();
}

void Projections::add_image(const float* image) {
  for (int64_t i = 0; i < x; ++i) {
    double* xz_row = &xz[static_cast<size_t>(i * z)];
    for (int64_t j = 0; j < y; ++j) {
      double* yz_row = &yz[static_cast<size_t>(j * z)];
      double column = 0;
      for (int64_t k = 0; k < z; ++k) {
        const double energy_gev = *image++;
        xz_row[k] += energy_gev;
        yz_row[k] += energy_gev;
        column += energy_gev;
      }
      xy[static_cast<size_t>(i * y + j)] += column;
    }
  }
}

void Projections::derive_profiles() {
  longitudinal.assign(static_cast<size_t>(z), 0);
  transverse_x.assign(static_cast<size_t>(x), 0);
  transverse_y.assign(static_cast<size_t>(y), 0);
  for (size_t i = 0; i < xz.size(); ++i) {
    longitudinal[i % longitudinal.size()] += xz[i];
    transverse_x[i / longitudinal.size()] += xz[i];
  }
  for (size_t i = 0; i < yz.size(); ++i) transverse_y[i / longitudinal.size()] += yz[i];
}

void Projections::merge(const Projections& other) {
  LINAC_CHECK(x == other.x && y == other.y && z == other.z);
  events += other.events;
  add_to(xy, other.xy);
  add_to(xz, other.xz);
  add_to(yz, other.yz);
  derive_profiles();
}

Projections Projections::mean() const {
  Projections result = *this;
  if (events == 0) return result;
  for (auto* values : {&result.xy, &result.xz, &result.yz})
    for (double& value : *values) value /= static_cast<double>(events);
  result.derive_profiles();
  return result;
}

std::vector<float> Projections::flat() const {
  std::vector<float> values;
  values.reserve(xy.size() + xz.size() + yz.size());
  for (const auto* map : {&xy, &xz, &yz})
    for (const double value : *map) values.push_back(static_cast<float>(value));
  return values;
}

void Projections::assign_flat(std::span<const float> values, int64_t event_count) {
  LINAC_CHECK(values.size() == xy.size() + xz.size() + yz.size());
  std::copy_n(values.begin(), xy.size(), xy.begin());
  std::copy_n(values.subspan(xy.size()).begin(), xz.size(), xz.begin());
  std::copy_n(values.subspan(xy.size() + xz.size()).begin(), yz.size(), yz.begin());
  events = event_count;
  derive_profiles();
}

}  // namespace linac::physics
