#include "linac/kernels/blocked_image.h"

#include <algorithm>

#include "linac/kernels/blocked_conv.h"
#include "linac/kernels/row_kernels.h"

namespace linac::kernels {

void to_blocked(const BlockedExtent& extent, const float* plain, int64_t events, float* blocked,
                const Parallel& parallel, Isa isa) {
  const RowKernels& kernels = row_kernels(isa);
  const int64_t channels = extent.channels, depth = extent.cells[2], row = channels * depth;
  const int64_t stride = cells(extent.cells) * channels;
  parallel(extent.cells[0], [&](int64_t x) {
    float* const mixed = thread_scratch(Scratch::kRows, row * 16);  // [Z][C][16]
    for (int64_t y = 0; y < extent.cells[1]; ++y) {
      float* const to = blocked + (x * extent.cells[1] + y) * row * 16;
      kernels.block(plain + (x * extent.cells[1] + y) * row, stride, events, row, channels == 1 ? to : mixed);
      for (int64_t i = 0; i < row && channels > 1; ++i)
        std::copy_n(mixed + i * 16, 16, to + (i % channels * depth + i / channels) * 16);
    }
  });
}

void to_plain(const BlockedExtent& extent, const float* blocked, int64_t events, float* plain, const Parallel& parallel,
              Isa isa) {
  const RowKernels& kernels = row_kernels(isa);
  const int64_t channels = extent.channels, depth = extent.cells[2], row = channels * depth;
  const int64_t stride = cells(extent.cells) * channels;
  parallel(extent.cells[0], [&](int64_t x) {
    float* const mixed = thread_scratch(Scratch::kRows, row * 16);  // [Z][C][16]
    for (int64_t y = 0; y < extent.cells[1]; ++y) {
      const float* const from = blocked + (x * extent.cells[1] + y) * row * 16;
      for (int64_t i = 0; i < row && channels > 1; ++i)
        std::copy_n(from + (i % channels * depth + i / channels) * 16, 16, mixed + i * 16);
      kernels.unblock(channels == 1 ? from : mixed, stride, events, row, plain + (x * extent.cells[1] + y) * row);
    }
  });
}

}  // namespace linac::kernels
