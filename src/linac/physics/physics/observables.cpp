#include "linac/physics/physics/observables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/physics/physics/measured_angle.h"

namespace linac::physics {
namespace {

constexpr int kParts = 3;                   // of a cell, along x and along y
constexpr double kFineRingWidth = 1.0 / 8;  // behind the containment radii
constexpr int kFloatExponentBias = 127, kFloatFractionBits = 23;

double centre(size_t cell) {
  return static_cast<double>(cell) + 0.5;
}

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double part_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

Moments moments(std::span<const double> profile) {
  const double total = sum(profile);
  if (!(total > 0)) return {};
  double mean = 0, square = 0;
  for (size_t i = 0; i < profile.size(); ++i) mean += profile[i] * centre(i);
  mean /= total;
  for (size_t i = 0; i < profile.size(); ++i) square += profile[i] * (centre(i) - mean) * (centre(i) - mean);
  return {mean, std::sqrt(square / total)};
}

int64_t maximum(std::span<const double> profile) {
  return std::max_element(profile.begin(), profile.end()) - profile.begin();
}

std::array<double, 3> thirds(std::span<const double> profile) {
  std::array<double, 3> result{};
  const double total = sum(profile), length = static_cast<double>(profile.size()) / 3;
  if (!(total > 0)) return result;
  for (size_t i = 0; i < profile.size(); ++i) {
    const auto begin = static_cast<double>(i);
    for (size_t third = 0; third < 3; ++third) {
      const double low = static_cast<double>(third) * length;
      const double shared = std::min(begin + 1, low + length) - std::max(begin, low);
      if (shared > 0) result[third] += shared * profile[i] / total;
    }
  }
  return result;
}

std::vector<double> radial_profile(std::span<const double> xy, int64_t x, int64_t y, double width) {
  LINAC_CHECK(width > 0 && static_cast<int64_t>(xy.size()) == x * y);
  const double corner = std::hypot(static_cast<double>(x), static_cast<double>(y));
  std::vector<double> rings(static_cast<size_t>(corner / width) + 1);
  double total = 0, mean_x = 0, mean_y = 0;
  const auto each_cell = [&](const auto& use) {
    for (int64_t i = 0; i < x; ++i) {
      for (int64_t j = 0; j < y; ++j) {
        const double energy = xy[static_cast<size_t>(i * y + j)];
        if (energy > 0) use(centre(static_cast<size_t>(i)), centre(static_cast<size_t>(j)), energy);
      }
    }
  };
  each_cell([&](double cx, double cy, double energy) {
    total += energy;
    mean_x += energy * cx;
    mean_y += energy * cy;
  });
  if (!(total > 0) || !std::isfinite(total)) return rings;
  mean_x /= total;
  mean_y /= total;
  each_cell([&](double cx, double cy, double energy) {
    for (int a = 0; a < kParts; ++a) {
      for (int b = 0; b < kParts; ++b) {
        const double dx = cx - mean_x + (a - 1.0) / kParts, dy = cy - mean_y + (b - 1.0) / kParts;
        rings[static_cast<size_t>(std::sqrt(dx * dx + dy * dy) / width)] += energy / (kParts * kParts);
      }
    }
  });
  return rings;
}

double containment_radius(std::span<const double> radial, double width, double fraction) {
  const double wanted = fraction * sum(radial);
  if (!(wanted > 0)) return 0;
  double inside = 0;
  for (size_t ring = 0; ring < radial.size(); ++ring) {
    if (inside + radial[ring] >= wanted) return width * (static_cast<double>(ring) + (wanted - inside) / radial[ring]);
    inside += radial[ring];
  }
  return width * static_cast<double>(radial.size());
}

int64_t cells_above(std::span<const float> image, double threshold_gev) {
  const auto threshold = static_cast<float>(threshold_gev);
  return std::count_if(image.begin(), image.end(), [threshold](float cell) { return cell > threshold; });
}

void add_spectrum(std::span<const float> image, std::span<double> bins) {
  LINAC_CHECK(bins.size() == kSpectrumBins);
  for (const float cell : image) {
    if (!(cell > 0)) continue;
    const int exponent = static_cast<int>(std::bit_cast<uint32_t>(cell) >> kFloatFractionBits) - kFloatExponentBias;
    bins[static_cast<size_t>(std::clamp(exponent - kSpectrumFirst, 0, kSpectrumBins - 1))] += 1;
  }
}

const std::array<ObservableInfo, kObservables>& observable_table() {
  static const std::array<ObservableInfo, kObservables> table{{
      {"total", "energy in the image", "GeV"},
      {"response", "response: image energy / primary energy", ""},
      {"depth.mean", "mean depth", "layers"},
      {"depth.width", "longitudinal width", "layers"},
      {"depth.maximum", "layer of the maximum", "layer"},
      {"depth.first", "energy fraction, first third", ""},
      {"depth.middle", "energy fraction, middle third", ""},
      {"depth.last", "energy fraction, last third", ""},
      {"x.mean", "mean x", "cells"},
      {"x.width", "width in x", "cells"},
      {"y.mean", "mean y", "cells"},
      {"y.width", "width in y", "cells"},
      {"radius.50", "radius holding 50 % of the energy", "cells"},
      {"radius.90", "radius holding 90 % of the energy", "cells"},
      {"hits", "cells above threshold", "cells"},
      {"cell.maximum", "largest cell", "GeV"},
      {"angle", "measured angle", "rad"},
  }};
  return table;
}

Observer::Observer(const EventShape& shape, double threshold_gev) : threshold_gev_(threshold_gev) {
  shower_.maps = Projections(shape.x, shape.y, shape.z);
  shower_.spectrum.resize(kSpectrumBins);
}

const Shower& Observer::observe(std::span<const float> image, double energy_gev, double theta) {
  shower_.energy_gev = energy_gev;
  shower_.theta = theta;
  Projections& maps = shower_.maps;
  LINAC_CHECK(static_cast<int64_t>(image.size()) == maps.x * maps.y * maps.z);
  maps.clear();
  maps.add(image);
  std::fill(shower_.spectrum.begin(), shower_.spectrum.end(), 0.0);
  add_spectrum(image, shower_.spectrum);
  shower_.radial = radial_profile(maps.xy, maps.x, maps.y, kRingWidth);

  const double total = sum(maps.longitudinal);
  const Moments x = moments(maps.transverse_x), y = moments(maps.transverse_y), z = moments(maps.longitudinal);
  const auto third = thirds(maps.longitudinal);
  const auto fine = radial_profile(maps.xy, maps.x, maps.y, kFineRingWidth);
  const std::array<double, kObservables> values{
      total,
      part_of(total, energy_gev),
      z.mean,
      z.width,
      static_cast<double>(maximum(maps.longitudinal)),
      third[0],
      third[1],
      third[2],
      x.mean,
      x.width,
      y.mean,
      y.width,
      containment_radius(fine, kFineRingWidth, 0.5),
      containment_radius(fine, kFineRingWidth, 0.9),
      static_cast<double>(cells_above(image, threshold_gev_)),
      *std::max_element(image.begin(), image.end()),
      measured_angle(maps, LayerWeight::kEqual),
  };
  std::transform(values.begin(), values.end(), shower_.values.begin(), [](double v) { return static_cast<float>(v); });
  return shower_;
}

}  // namespace linac::physics
