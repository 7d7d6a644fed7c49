#pragma once
// The body of pool_kernels.h, compiled once an instruction set (see plane_kernels-inl.h).

namespace linac::kernels {
namespace {

/// Sixteen values from `from`; where fewer are there, in `room`, with zeros behind them.
inline const float* sixteen(const float* from, int64_t there, float room[16]) {
  if (there >= 16) return from;
  for (int64_t i = 0; i < 16; ++i) room[i] = i < there ? from[i] : 0.0F;
  return room;
}

/// The other way: where to put sixteen values, and what was put into `room` brought to its place.
inline float* place_for_sixteen(float* to, int64_t wanted, float room[16]) {
  return wanted >= 16 ? to : room;
}
inline void bring_sixteen(const float room[16], int64_t wanted, float* to) {
  for (int64_t i = 0; i < wanted && wanted < 16; ++i) to[i] = room[i];
}

/// Bits of cells that were met one after the other: where a later one won, the earlier ones lose theirs.
inline void leave_the_last(int64_t cells, int64_t step, uint16_t* won) {
  unsigned later = 0;
  for (int64_t cell = cells - 1; cell >= 0; --cell) {
    const unsigned taken = won[cell * step];
    won[cell * step] = static_cast<uint16_t>(taken & ~later);
    later |= taken;
  }
}

void pool_forward(const PoolRow& row, const float* x, const float* bias, float slope, float* y, uint16_t* won) {
  const Vec factor = broadcast(slope);
  const int64_t groups = row.groups();
  float room[16], bias_room[16], y_room[16];
  for (int64_t i = 0; i < row.windows; ++i) {
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t first = group * 16, there = row.channels - first;
      const float* const added = bias == nullptr ? nullptr : sixteen(bias + first, there, bias_room);
      float* const to = place_for_sixteen(y + i * row.channels + first, there, y_room);
      uint16_t* const bits = won == nullptr ? nullptr : won + i * row.cells() * groups + group;
      for (int64_t lane = 0; lane < 16; lane += kLanes) {
        Vec largest = broadcast(0.0F);
        int64_t cell = 0;
        for (int64_t r = 0; r < row.rows; ++r) {
          const float* from = x + row.offsets[r] + i * row.depth * row.channels + first;
          for (int64_t k = 0; k < row.depth; ++k, ++cell, from += row.channels) {
            const Vec value = load(sixteen(from, there, room) + lane);
            unsigned taken = (1U << kLanes) - 1;
            if (cell == 0)
              largest = value;
            else
              taken = take_larger(largest, value);
            if (bits != nullptr)
              bits[cell * groups] = static_cast<uint16_t>((lane == 0 ? 0U : bits[cell * groups]) | taken << lane);
          }
        }
        if (added != nullptr) largest = add(largest, load(added + lane));
        store(to + lane, where_positive(largest, largest, multiply(largest, factor)));
      }
      bring_sixteen(y_room, there, y + i * row.channels + first);
      if (bits != nullptr) leave_the_last(row.cells(), groups, bits);
    }
  }
}

void pool_backward(const PoolRow& row, const float* y_gradient, const float* y, const uint16_t* won, float slope,
                   float* x, float* bias) {
  const Vec factor = broadcast(slope);
  const int64_t groups = row.groups();
  float gradient_room[16], y_room[16], x_room[16];
  for (int64_t i = 0; i < row.windows; ++i) {
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t first = group * 16, there = row.channels - first, at = i * row.channels + first;
      const float* const gradients = sixteen(y_gradient + at, there, gradient_room);
      const float* const values = sixteen(y + at, there, y_room);
      const uint16_t* const bits = won + i * row.cells() * groups + group;
      for (int64_t lane = 0; lane < 16; lane += kLanes) {
        const Vec whole = load(gradients + lane);
        const Vec gradient = where_positive(load(values + lane), whole, multiply(whole, factor));
        store(bias + first + lane, add(load(bias + first + lane), gradient));
        int64_t cell = 0;
        for (int64_t r = 0; r < row.rows; ++r) {
          float* to = x + row.offsets[r] + i * row.depth * row.channels + first;
          for (int64_t k = 0; k < row.depth; ++k, ++cell, to += row.channels) {
            const Vec kept = keep(gradient, static_cast<unsigned>(bits[cell * groups] >> lane));
            if (there >= 16) {
              store(to + lane, kept);
              continue;
            }
            store(x_room, kept);
            for (int64_t c = lane; c < lane + kLanes && c < there; ++c) to[c] = x_room[c - lane];
          }
        }
      }
    }
  }
}

constexpr PoolKernels kPools{pool_forward, pool_backward};

}  // namespace
}  // namespace linac::kernels
