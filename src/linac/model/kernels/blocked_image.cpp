#include "linac/model/kernels/blocked_image.h"

#include <algorithm>

#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/kernels/row_kernels.h"

namespace linac::kernels {

namespace {

/// use(first value of the row in a plain image, first one in a blocked image, room for a row [Z][C][16]).
template <class Use>
void for_each_row(const BlockedExtent& extent, const Parallel& parallel, const Use& use) {
  const int64_t row = extent.row();
  parallel(extent.cells[0], [&](int64_t x) {
    float* const mixed = thread_scratch(Scratch::kRows, row);
    for (int64_t y = x * extent.cells[1]; y < (x + 1) * extent.cells[1]; ++y)
      use(y * row / kBlockEvents, y * row, mixed);
  });
}

/// Where value i of a row [Z][C] lies in [C][Z][16].
int64_t place(const BlockedExtent& extent, int64_t i) {
  return (i % extent.channels * extent.cells[2] + i / extent.channels) * kBlockEvents;
}

}  // namespace

void to_blocked(const BlockedExtent& extent, const float* plain, int64_t events, float* blocked,
                const Parallel& parallel, Isa isa) {
  const RowKernels& kernels = row_kernels(isa);
  const int64_t values = extent.row() / kBlockEvents, stride = extent.floats() / kBlockEvents;
  for_each_row(extent, parallel, [&](int64_t first, int64_t first_blocked, float* mixed) {
    float* const row = blocked + first_blocked;
    kernels.block(plain + first, stride, events, values, extent.channels == 1 ? row : mixed);
    for (int64_t i = 0; i < values && extent.channels > 1; ++i)
      std::copy_n(mixed + i * kBlockEvents, kBlockEvents, row + place(extent, i));
  });
}

void to_plain(const BlockedExtent& extent, const float* blocked, int64_t events, float* plain, const Parallel& parallel,
              Isa isa) {
  const RowKernels& kernels = row_kernels(isa);
  const int64_t values = extent.row() / kBlockEvents, stride = extent.floats() / kBlockEvents;
  for_each_row(extent, parallel, [&](int64_t first, int64_t first_blocked, float* mixed) {
    const float* const row = blocked + first_blocked;
    for (int64_t i = 0; i < values && extent.channels > 1; ++i)
      std::copy_n(row + place(extent, i), kBlockEvents, mixed + i * kBlockEvents);
    kernels.unblock(extent.channels == 1 ? row : mixed, stride, events, values, plain + first);
  });
}

}  // namespace linac::kernels
