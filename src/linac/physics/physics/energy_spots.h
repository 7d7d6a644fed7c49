#pragma once
// Places the energy spots of one layer: the inner loop of the shower simulation, written for the vector units and the
// same bits on every instruction set. Pure, thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace linac::physics {

/// Where the spots of a layer fall; all lengths in cells. Each of core and tail is f(r) = 2 r R^2 / (r^2 + R^2)^2, cut
/// at radius `limit`.
struct SpotLaw {
  double core, tail, core_weight;  // core_weight in [0, 1], radii above 0
  double limit;
  double x, y;       // where the axis crosses the layer
  double y_stretch;  // 1 / sin(theta): the cut through a tilted shower is longer along y
};

/// Largest |x|, |y| plus limit that cell numbers are exact for.
constexpr double kSpotReachMax_cells = 4096;

/// Relative energies of the spots: 32 equally likely values of mean 1, at the middles of equal shares of a Weibull
/// distribution of shape 1 / spread. spread 0: all alike, as in the paper; 1: exponential.
class SpotEnergies {
 public:
  explicit SpotEnergies(double spread);
  /// From five bits of a direction that place_spots() leaves.
  float of(uint32_t direction_bits) const { return values_[(direction_bits >> 3) % kValues]; }

 private:
  static constexpr size_t kValues = 32;
  std::array<float, kValues> values_;
};

/// Spot i, from bits[2 i] (radius) and bits[2 i + 1] (direction), lies in cell (cell_x[i], cell_y[i]), which may be
/// negative. bits holds twice as many numbers as cell_x and cell_y.
void place_spots(std::span<const uint32_t> bits, const SpotLaw& law, std::span<int32_t> cell_x,
                 std::span<int32_t> cell_y);

}  // namespace linac::physics
