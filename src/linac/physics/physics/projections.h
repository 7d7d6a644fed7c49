#pragma once
// Where showers leave their energy, added up over events: three maps onto the planes of the image and three profiles.
// Images are [events][x][y][z] in GeV. A plain value without locks: every thread fills its own, and they are merged in
// an order that the caller fixes (sums of doubles depend on it).

#include <cstdint>
#include <span>
#include <vector>

namespace linac::physics {

struct Projections {
  Projections() = default;
  Projections(int64_t x, int64_t y, int64_t z);

  /// Back to no events.
  void clear();
  /// Adds whole images in their order; the size must be a multiple of x*y*z.
  void add(std::span<const float> images);
  /// Adds another sum over the same shape.
  void merge(const Projections& other);
  /// Per event; all zero without events (then `events` is 0).
  Projections mean() const;

  /// The maps xy, xz, yz one after the other, as a message between workers; assign_flat takes it back.
  std::vector<float> flat() const;
  void assign_flat(std::span<const float> values, int64_t event_count);

  int64_t x = 0, y = 0, z = 0;
  int64_t events = 0;
  std::vector<double> xy, xz, yz;                                // GeV, [x][y], [x][z], [y][z]
  std::vector<double> longitudinal, transverse_x, transverse_y;  // GeV, [z], [x], [y]

 private:
  void add_image(const float* image);
  void derive_profiles();
};

}  // namespace linac::physics
