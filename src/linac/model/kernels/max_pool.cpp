#include "linac/model/kernels/max_pool.h"

#include <algorithm>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/model/kernels/pool_kernels.h"

namespace linac::kernels {
namespace {

/// row(PoolRow, number of the row of windows)
template <class Row>
void for_each_row(const PoolShape& shape, const Row& row) {
  LINAC_CHECK(cells(shape.out()) > 0);
  const Extent3 out = shape.out();
  const auto& [size_x, size_y, size_z] = shape.window;
  std::vector<int64_t> offsets(static_cast<size_t>(size_x * size_y));
  for (int64_t number = 0; number < out[0] * out[1]; ++number) {
    const int64_t x = number / out[1] * size_x, y = number % out[1] * size_y;
    for (int64_t i = 0; i < size_x * size_y; ++i) {
      offsets[static_cast<size_t>(i)] =
          ((x + i / size_y) * shape.in[1] + y + i % size_y) * shape.in[2] * shape.channels;
    }
    row(PoolRow{offsets.data(), size_x * size_y, size_z, out[2], shape.channels}, number);
  }
}

bool covers_all(const PoolShape& shape) {
  const Extent3 out = shape.out();
  for (size_t axis = 0; axis < 3; ++axis) {
    if (out[axis] * shape.window[axis] != shape.in[axis]) return false;
  }
  return true;
}

}  // namespace

void max_pool_forward(const PoolShape& shape, const float* x, const float* bias, float slope, float* y,
                      uint16_t* winners, Isa isa) {
  const int64_t floats = shape.out()[2] * shape.channels;
  for_each_row(shape, [&](const PoolRow& row, int64_t number) {
    pool_kernels(isa).forward(row, x, bias, slope, y + number * floats,
                              winners == nullptr ? nullptr : winners + number * row.bits());
  });
}

void max_pool_backward(const PoolShape& shape, const float* y_gradient, const float* y, const uint16_t* winners,
                       float slope, float* x_gradient, double* bias_gradient, Isa isa) {
  if (!covers_all(shape)) std::fill_n(x_gradient, shape.in_floats(), 0.0F);
  const int64_t floats = shape.out()[2] * shape.channels;
  // A row is added in float, rows in double: plain float would lose digits over many cells.
  std::vector<float> of_row(static_cast<size_t>((shape.channels + 15) / 16 * 16));
  for_each_row(shape, [&](const PoolRow& row, int64_t number) {
    std::fill(of_row.begin(), of_row.end(), 0.0F);
    pool_kernels(isa).backward(row, y_gradient + number * floats, y + number * floats, winners + number * row.bits(),
                               slope, x_gradient, of_row.data());
    for (int64_t c = 0; c < shape.channels && bias_gradient != nullptr; ++c)
      bias_gradient[c] += static_cast<double>(of_row[static_cast<size_t>(c)]);
  });
}

}  // namespace linac::kernels
