#include "linac/physics/physics/energy_spots.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "linac/base/base/error.h"

// Additions, products, quotients and square roots are rounded alike on every instruction set, and -ffp-contract=off
// keeps them apart: every clone gives the same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LINAC_EXACT_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LINAC_EXACT_CLONES
#endif

namespace linac::physics {
namespace {

constexpr auto kOffset = static_cast<float>(kSpotReachMax_cells);  // makes truncation a rounding down

// The radius that a share u of the energy lies within: f integrates to v = r^2 / (r^2 + R^2), v below v_max at the
// limit.
struct Component {
  float radius, v_max;
};

Component component(double radius, double limit) {
  return {static_cast<float>(radius), static_cast<float>(limit * limit / (limit * limit + radius * radius))};
}

LINAC_EXACT_CLONES
void place(const uint32_t* __restrict__ bits, size_t n, Component core, Component tail, float limit, float core_weight,
           float x, float y, float y_stretch, int32_t* __restrict__ cell_x, int32_t* __restrict__ cell_y) {
  const float tail_weight = 1 - core_weight;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t radius_bits = bits[2 * i], direction_bits = bits[2 * i + 1];
    // In [0, 1): the core's share first. v / (1 - v) is written as a quotient of parts of u; rounding at the limit is
    // cut.
    const float u = static_cast<float>(static_cast<int32_t>(radius_bits >> 8)) * 0x1p-24F;
    const bool in_core = u < core_weight;
    const float weight = in_core ? core_weight : tail_weight;
    const float part = (in_core ? u : u - core_weight) * (in_core ? core.v_max : tail.v_max);
    const float radius = std::min((in_core ? core.radius : tail.radius) * std::sqrt(part / (weight - part)), limit);
    // A direction in the first octant, then its mirror images: sine and cosine by Taylor's series, good to 4e-7.
    const float phi = static_cast<float>(static_cast<int32_t>(direction_bits >> 8)) *
                      static_cast<float>(std::numbers::pi / 4 * 0x1p-24);
    const float square = phi * phi;
    const float sine = phi * (1 - square * (1.F / 6 - square * (1.F / 120 - square * (1.F / 5040))));
    const float cosine = 1 - square * (0.5F - square * (1.F / 24 - square * (1.F / 720 - square * (1.F / 40320))));
    const bool swapped = (direction_bits & 1) != 0;
    const float along_x = swapped ? sine : cosine, along_y = swapped ? cosine : sine;
    const float dx = radius * ((direction_bits & 2) != 0 ? -along_x : along_x);
    const float dy = radius * ((direction_bits & 4) != 0 ? -along_y : along_y);
    cell_x[i] = static_cast<int32_t>(x + dx + kOffset) - static_cast<int32_t>(kOffset);
    cell_y[i] = static_cast<int32_t>(y + dy * y_stretch + kOffset) - static_cast<int32_t>(kOffset);
  }
}

}  // namespace

SpotEnergies::SpotEnergies(double spread) {
  std::array<double, kValues> quantiles{};
  double sum = 0;
  for (size_t i = 0; i < kValues; ++i) {
    quantiles[i] = std::pow(-std::log((static_cast<double>(i) + 0.5) / kValues), spread);
    sum += quantiles[i];
  }
  for (size_t i = 0; i < kValues; ++i) values_[i] = static_cast<float>(quantiles[i] * kValues / sum);
}

void place_spots(std::span<const uint32_t> bits, const SpotLaw& law, std::span<int32_t> cell_x,
                 std::span<int32_t> cell_y) {
  LINAC_CHECK(cell_x.size() == cell_y.size() && bits.size() == 2 * cell_x.size());
  LINAC_CHECK(std::abs(law.x) + law.limit < kSpotReachMax_cells &&
              std::abs(law.y) + law.limit * law.y_stretch < kSpotReachMax_cells);
  place(bits.data(), cell_x.size(), component(law.core, law.limit), component(law.tail, law.limit),
        static_cast<float>(law.limit), static_cast<float>(law.core_weight), static_cast<float>(law.x),
        static_cast<float>(law.y), static_cast<float>(law.y_stretch), cell_x.data(), cell_y.data());
}

}  // namespace linac::physics
