#include "linac/train/validate/coarse_image.h"

#include <cmath>

#include "linac/base/base/error.h"

namespace linac::validate {
namespace {

constexpr int64_t kAcrossMax = 17, kDeepMax = 25;
constexpr float kUnitGev = 1e-4F;

int64_t group(int64_t cells, int64_t most) {
  return (cells + most - 1) / most;
}

int64_t grouped(int64_t cells, int64_t most) {
  const int64_t size = group(cells, most);
  return (cells + size - 1) / size;
}

}  // namespace

EventShape coarse_shape(const EventShape& shape) {
  return {grouped(shape.x, kAcrossMax), grouped(shape.y, kAcrossMax), grouped(shape.z, kDeepMax)};
}

void append_coarse_image(std::span<const float> image_gev, const EventShape& shape, std::vector<float>& out) {
  LINAC_CHECK(static_cast<int64_t>(image_gev.size()) == shape.cells());
  const EventShape coarse = coarse_shape(shape);
  const int64_t across_x = group(shape.x, kAcrossMax), across_y = group(shape.y, kAcrossMax),
                deep = group(shape.z, kDeepMax);
  const size_t begin = out.size();
  out.resize(begin + static_cast<size_t>(coarse.cells()));
  const float* cell = image_gev.data();
  for (int64_t x = 0; x < shape.x; ++x) {
    for (int64_t y = 0; y < shape.y; ++y) {
      float* row = &out[begin + static_cast<size_t>(((x / across_x) * coarse.y + y / across_y) * coarse.z)];
      for (int64_t z = 0; z < shape.z; ++z) row[z / deep] += *cell++;
    }
  }
  for (size_t i = begin; i < out.size(); ++i) out[i] = std::log1p(out[i] / kUnitGev);
}

}  // namespace linac::validate
