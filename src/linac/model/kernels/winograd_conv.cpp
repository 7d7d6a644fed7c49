#include "linac/model/kernels/winograd_conv.h"

#include <algorithm>

#include "linac/base/base/aligned.h"
#include "linac/base/base/error.h"

namespace linac::kernels {
namespace {

constexpr int64_t kNumbers = 16;                    // of a tile and channel
constexpr int64_t kTileBytes = int64_t{256} << 10;  // of all tiles at a time: they stay in the L2 cache

/// Tiles from `first` to `last` of all events' tiles, one after the other.
template <class Tile>
void for_each_tile(const PlainConvShape& shape, int64_t first, int64_t last, const Tile& tile) {
  const int64_t across = (shape.out_x + 1) / 2, all = winograd_tiles(shape);
  int64_t event = first / all, y = first % all / across, x = first % across;
  for (int64_t i = first; i < last; ++i) {
    tile(i - first, event, 2 * y, 2 * x);
    if (++x < across) continue;
    x = 0;
    if (++y * across < all) continue;
    y = 0;
    ++event;
  }
}

ImageTile image_tile(const PlainConvShape& shape, const float* x, int64_t event, int64_t out_y, int64_t out_x) {
  const int64_t row = shape.in_x * shape.in_channels, y0 = out_y - shape.before_y, x0 = out_x - shape.before_x;
  return {x + event * shape.in_floats() + y0 * row + x0 * shape.in_channels,
          row,
          shape.in_channels,
          -y0,
          shape.in_y - y0,
          -x0,
          shape.in_x - x0};
}

/// What the tile has of the output.
int64_t wanted(int64_t out, int64_t at) {
  return std::min<int64_t>(2, out - at);
}

int64_t tiles_at_a_time(const PlainConvShape& shape) {
  const int64_t bytes = kNumbers * (shape.in_channels + shape.out_channels) * static_cast<int64_t>(sizeof(float));
  return std::max<int64_t>(24, kTileBytes / bytes / 24 * 24);
}

/// Memory that a thread uses again.
float* room(int64_t floats) {
  thread_local AlignedFloats memory;
  if (memory.size() < static_cast<size_t>(floats)) memory.resize(static_cast<size_t>(floats));
  return memory.data();
}

}  // namespace

bool winograd_takes(const PlainConvShape& shape) {
  return visits_every_cell(shape) && fills_vectors(shape.in_channels) && fills_vectors(shape.out_channels) &&
         shape.out_y > 1 && shape.out_x > 1 && shape.before_y <= 2 && shape.before_x <= 2;
}

void winograd_kernel(const PlainConvShape& shape, const float* kernel, bool transposed, float* to) {
  const int64_t in = shape.in_channels, out = shape.out_channels, plane = in * out;
  AlignedFloats turned(static_cast<size_t>(transposed ? 9 * plane : 0));
  if (transposed) {
    for (int64_t tap = 0; tap < 9; ++tap) {
      for (int64_t i = 0; i < in; ++i) {
        for (int64_t o = 0; o < out; ++o)
          turned[static_cast<size_t>(((8 - tap) * out + o) * in + i)] = kernel[(tap * in + i) * out + o];
      }
    }
    kernel = turned.data();
  }
  // Along y into half, [4][3][plane], then along x.
  AlignedFloats half(static_cast<size_t>(12 * plane));
  const auto spread = [plane](const float* a, const float* b, const float* c, float* number, int64_t step) {
    for (int64_t i = 0; i < plane; ++i) {
      const float ends = a[i] + c[i];
      number[i] = a[i];
      number[step + i] = (ends + b[i]) * 0.5F;
      number[2 * step + i] = (ends - b[i]) * 0.5F;
      number[3 * step + i] = c[i];
    }
  };
  for (int64_t x = 0; x < 3; ++x)
    spread(kernel + x * plane, kernel + (3 + x) * plane, kernel + (6 + x) * plane, half.data() + x * plane, 3 * plane);
  for (int64_t y = 0; y < 4; ++y) {
    const float* const row = half.data() + 3 * y * plane;
    spread(row, row + plane, row + 2 * plane, to + 4 * y * plane, plane);
  }
}

void winograd_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* kernel,
                      const WinogradOutput& output, Isa isa) {
  LINAC_CHECK(winograd_takes(shape));
  const MatrixKernels& kernels = matrix_kernels(isa);
  const int64_t in = shape.in_channels, out = shape.out_channels, all = events * winograd_tiles(shape);
  const int64_t most = std::min(tiles_at_a_time(shape), all);
  float* const images = room(kNumbers * most * (in + out));
  float* const products = images + kNumbers * most * in;
  const int64_t pooled_y = shape.out_y / 2, pooled_x = shape.out_x / 2;
  for (int64_t first = 0; first < all; first += most) {
    const int64_t count = std::min(most, all - first);
    for_each_tile(shape, first, first + count, [&](int64_t i, int64_t event, int64_t at_y, int64_t at_x) {
      kernels.tile_of_image(image_tile(shape, x, event, at_y, at_x), images + i * in, most * in);
    });
    for (int64_t p = 0; p < kNumbers; ++p) {
      kernels.multiply({.a = images + p * most * in,
                        .a_row = in,
                        .a_segment = 0,
                        .a_step = 1,
                        .b = kernel + p * in * out,
                        .b_row = out,
                        .c = products + p * most * out,
                        .c_row = out,
                        .rows = count,
                        .columns = out,
                        .segments = 1,
                        .depth = in});
    }
    for_each_tile(shape, first, first + count, [&](int64_t i, int64_t event, int64_t at_y, int64_t at_x) {
      const int64_t y_count = wanted(shape.out_y, at_y), x_count = wanted(shape.out_x, at_x);
      const float* const from = products + i * out;
      if (!output.pooled) {
        const int64_t at = event * shape.out_floats() + (at_y * shape.out_x + at_x) * out;
        kernels.tile_to_cells(from, most * out, {output.y + at, shape.out_x * out, out, y_count, x_count},
                              output.finish);
      } else if (y_count == 2 && x_count == 2) {
        const int64_t window = (event * pooled_y + at_y / 2) * pooled_x + at_x / 2;
        kernels.tile_to_largest(from, most * out, {output.y + window * out, 0, out, 1, 1}, output.finish,
                                output.winners == nullptr ? nullptr : output.winners + window * 4 * (out / 16));
      }
    });
  }
}

void winograd_backward_kernel(const PlainConvShape& shape, const float* x, const float* y_gradient, int64_t events,
                              float* sums, double* bias_gradient, Isa isa) {
  LINAC_CHECK(winograd_takes(shape));
  const MatrixKernels& kernels = matrix_kernels(isa);
  const int64_t in = shape.in_channels, out = shape.out_channels, all = events * winograd_tiles(shape);
  const int64_t most = std::min(tiles_at_a_time(shape), all);
  float* const images = room(kNumbers * most * (in + out));
  float* const gradients = images + kNumbers * most * in;
  for (int64_t first = 0; first < all; first += most) {
    const int64_t count = std::min(most, all - first);
    for_each_tile(shape, first, first + count, [&](int64_t i, int64_t event, int64_t at_y, int64_t at_x) {
      kernels.tile_of_image(image_tile(shape, x, event, at_y, at_x), images + i * in, most * in);
      const int64_t at = event * shape.out_floats() + (at_y * shape.out_x + at_x) * out;
      kernels.tile_of_gradient({const_cast<float*>(y_gradient) + at, shape.out_x * out, out, wanted(shape.out_y, at_y),
                                wanted(shape.out_x, at_x)},
                               gradients + i * out, most * out);
    });
    for (int64_t p = 0; p < kNumbers; ++p) {
      kernels.multiply({.a = images + p * most * in,
                        .a_row = 1,
                        .a_segment = 0,
                        .a_step = in,
                        .b = gradients + p * most * out,
                        .b_row = out,
                        .c = sums + p * in * out,
                        .c_row = out,
                        .rows = in,
                        .columns = out,
                        .segments = 1,
                        .depth = count,
                        .add = true});
    }
    if (bias_gradient != nullptr)  // number 5 is the sum of a tile's cells
      add_channel_sums(gradients + 5 * most * out, count, out, bias_gradient);
  }
}

void winograd_kernel_gradient(const PlainConvShape& shape, const float* sums, float* gradient) {
  const int64_t plane = shape.in_channels * shape.out_channels;
  for (int64_t i = 0; i < plane; ++i) {
    float half[3][4];
    for (int64_t x = 0; x < 4; ++x) {
      const auto number = [&](int64_t y) { return sums[(4 * y + x) * plane + i]; };
      const float both = (number(1) + number(2)) * 0.5F;
      half[0][x] = number(0) + both;
      half[1][x] = (number(1) - number(2)) * 0.5F;
      half[2][x] = both + number(3);
    }
    for (int64_t y = 0; y < 3; ++y) {
      const float both = (half[y][1] + half[y][2]) * 0.5F;
      gradient[(3 * y) * plane + i] = half[y][0] + both;
      gradient[(3 * y + 1) * plane + i] = (half[y][1] - half[y][2]) * 0.5F;
      gradient[(3 * y + 2) * plane + i] = both + half[y][3];
    }
  }
}

}  // namespace linac::kernels
