#include "linac/model/nn/image_sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::nn {
namespace {

/// A place on an axis of so many cells, brought inside. Also in its oddities as TensorFlow does it (core/kernels/image/
/// image_ops.h): wrapping counts turns of one cell less than there are.
float within(float place, int64_t cells, Beyond beyond) {
  const auto count = static_cast<float>(cells), last = static_cast<float>(cells - 1);
  if (beyond == Beyond::kConstant) return place;
  if (beyond == Beyond::kReflect && cells > 1) {
    const float turn = 2 * count;
    place -= turn * std::trunc(place / turn);
    if (place < 0) place = place < -count ? place + turn : -place - 1;
    if (place >= count) place = turn - place - 1;
  }
  if (beyond == Beyond::kWrap && cells > 1) {
    if (place < 0)
      place += count * (std::trunc(-place / last) + 1);
    else if (place > last)
      place -= count * std::trunc(place / last);
  }
  return std::clamp(place, 0.0F, last);
}

/// Of the cells around each place: where they are in an event's H x W cells (H x W itself: outside), and their parts.
struct Corners {
  std::vector<int64_t*> cells;
  std::vector<float*> parts;  // none if there is one corner
};

class Sampler {
 public:
  Sampler(int64_t rows, int64_t columns, const Sampling& sampling)
      : rows_(rows), columns_(columns), sampling_(sampling) {}

  /// Fills the corners of one event from cell `first` on.
  void fill(const AffineMap& map, int64_t first, const Corners& corners) const {
    for (int64_t cell = 0; cell < rows_ * columns_; ++cell) {
      const auto column = static_cast<float>(cell % columns_), row = static_cast<float>(cell / columns_);
      const float x = within(map.a * column + map.b * row + map.c, columns_, sampling_.beyond);
      const float y = within(map.d * column + map.e * row + map.f, rows_, sampling_.beyond);
      if (sampling_.interpolation == Interpolation::kNearest) {
        corners.cells[0][first + cell] = index(std::round(y), std::round(x));
        continue;
      }
      const float left = std::floor(x), top = std::floor(y);
      for (int corner = 0; corner < 4; ++corner) {
        const auto right = static_cast<float>(corner % 2), below = static_cast<float>(corner / 2);
        corners.cells[static_cast<size_t>(corner)][first + cell] = index(top + below, left + right);
        corners.parts[static_cast<size_t>(corner)][first + cell] =
            (below > 0 ? y - top : top + 1 - y) * (right > 0 ? x - left : left + 1 - x);
      }
    }
  }

 private:
  int64_t index(float row, float column) const {
    const bool inside =
        row >= 0 && column >= 0 && row < static_cast<float>(rows_) && column < static_cast<float>(columns_);
    return inside ? static_cast<int64_t>(row) * columns_ + static_cast<int64_t>(column) : rows_ * columns_;
  }

  int64_t rows_, columns_;
  Sampling sampling_;
};

}  // namespace

at::Tensor sample_images(const at::Tensor& x, std::span<const AffineMap> maps, const Sampling& sampling) {
  const int64_t events = x.size(0), cells = x.size(1) * x.size(2), channels = x.size(3);
  LINAC_CHECK(static_cast<int64_t>(maps.size()) == events);
  const int64_t count = sampling.interpolation == Interpolation::kNearest ? 1 : 4;
  at::Tensor index = at::empty({count, events, cells}, at::kLong), part = at::empty({count, events, cells}, at::kFloat);
  Corners corners;
  for (int64_t corner = 0; corner < count; ++corner) {
    corners.cells.push_back(index[corner].mutable_data_ptr<int64_t>());
    corners.parts.push_back(part[corner].mutable_data_ptr<float>());
  }
  const Sampler sampler(x.size(1), x.size(2), sampling);
  for (int64_t event = 0; event < events; ++event)
    sampler.fill(maps[static_cast<size_t>(event)], event * cells, corners);
  // One cell more for what lies outside.
  const at::Tensor outside = at::full({events, 1, channels}, sampling.constant, x.options());
  const at::Tensor source = at::cat({x.reshape({events, cells, channels}), outside}, 1);
  index = index.to(x.device()).unsqueeze(-1), part = part.to(x.device()).unsqueeze(-1);
  at::Tensor sum;
  for (int64_t corner = 0; corner < count; ++corner) {
    at::Tensor found = at::gather(source, 1, index[corner].expand({-1, -1, channels}));
    if (count > 1) found = found * part[corner];
    sum = sum.defined() ? sum + found : found;
  }
  return sum.view(x.sizes());
}

}  // namespace linac::nn
