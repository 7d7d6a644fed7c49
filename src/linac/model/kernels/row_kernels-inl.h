#pragma once
// The body of row_kernels.h, compiled once an instruction set (see plane_kernels-inl.h).

namespace linac::kernels {
namespace {

// Values as they are kept: T is float or uint16_t, the upper half of a float.
template <class T>
inline T* values(const KeptRows& rows) {
  return static_cast<T*>(rows.image) + rows.first;
}
inline Vec load_kept(const float* from) {
  return load(from);
}
inline Vec load_kept(const uint16_t* from) {
  return load_upper_halves(from);
}
/// Rounds to what will be kept.
inline Vec as_kept(const float*, Vec a) {
  return a;
}
inline Vec as_kept(const uint16_t*, Vec a) {
  return rounded_to_upper_half(a);
}
inline void keep_late(float* to, Vec a) {
  stream(to, a);
}
inline void keep_late(uint16_t* to, Vec a) {
  stream_upper_halves(to, a);
}

template <class T>
void transform_kept(const RowShape& shape, const T* r, const RowTransform& what, float* y) {
  for (int64_t line = 0; line < shape.rows * shape.channels; ++line) {
    const int64_t c = line % shape.channels;
    const bool normal = what.mean != nullptr;
    const Vec mean = broadcast(normal ? what.mean[c] : 0.0F), scale = broadcast(normal ? what.scale[c] : 1.0F),
              shift = broadcast(normal ? what.shift[c] : 0.0F), kept = broadcast(what.kept);
    for (int64_t z = 0; z < shape.cells; ++z) {
      const int64_t cell = line * shape.cells + z;
      for (int64_t lane = 0; lane < 16; lane += kLanes) {
        Vec value = load_kept(r + cell * 16 + lane);
        if (normal) value = add(multiply(subtract(value, mean), scale), shift);
        if (what.mask != nullptr) value = keep(multiply(value, kept), static_cast<unsigned>(what.mask[cell] >> lane));
        store(y + cell * 16 + lane, value);
      }
    }
  }
}

void transform_rows(const RowShape& shape, const KeptRows& r, const RowTransform& what, float* y) {
  if (r.storage == Storage::kFloat)
    transform_kept(shape, values<const float>(r), what, y);
  else
    transform_kept(shape, values<const uint16_t>(r), what, y);
}

template <class T>
void activate_kept(const RowShape& shape, const float* a, const float* bias, float slope, double* sums, T* r) {
  const Vec factor = broadcast(slope);
  for (int64_t line = 0; line < shape.rows * shape.channels; ++line) {
    const int64_t c = line % shape.channels;
    const Vec b = broadcast(bias == nullptr ? 0.0F : bias[c]);
    for (int64_t lane = 0; lane < 16; lane += kLanes) {
      const int64_t first = line * shape.cells * 16 + lane;
      Vec sum = broadcast(0.0F), squares = broadcast(0.0F);
      for (int64_t z = 0; z < shape.cells; ++z) {
        const Vec cell = add(load(a + first + z * 16), b);
        const Vec value = as_kept(r, where_positive(cell, cell, multiply(cell, factor)));
        keep_late(r + first + z * 16, value);
        sum = add(sum, value);
        squares = multiply_add(value, value, squares);
      }
      if (sums == nullptr) continue;
      add_to_doubles(sum, sums + c * 32 + lane);
      add_to_doubles(squares, sums + c * 32 + 16 + lane);
    }
  }
  finish_streams();
}

void activate(const RowShape& shape, const float* a, const float* bias, float slope, double* sums, const KeptRows& r) {
  if (r.storage == Storage::kFloat)
    activate_kept(shape, a, bias, slope, sums, values<float>(r));
  else
    activate_kept(shape, a, bias, slope, sums, values<uint16_t>(r));
}

template <class T>
void gradient_kept(const RowShape& shape, const T* r, const T* y_gradient, const RowGradient& what, float* a_gradient) {
  const Vec slope = broadcast(what.slope);
  for (int64_t line = 0; line < shape.rows * shape.channels; ++line) {
    const int64_t c = line % shape.channels;
    const bool normal = what.mean != nullptr;
    const Vec mean = broadcast(normal ? what.mean[c] : 0.0F), of_y = broadcast(normal ? what.y_factor[c] : 1.0F),
              of_r = broadcast(normal ? what.r_factor[c] : 0.0F), offset = broadcast(normal ? what.offset[c] : 0.0F);
    for (int64_t i = line * shape.cells * 16; i < (line + 1) * shape.cells * 16; i += kLanes) {
      const Vec value = load_kept(r + i);
      Vec gradient = load_kept(y_gradient + i);
      if (normal) gradient = add(add(multiply(gradient, of_y), multiply(subtract(value, mean), of_r)), offset);
      store(a_gradient + i, where_positive(value, gradient, multiply(gradient, slope)));
    }
  }
}

void gradient_rows(const RowShape& shape, const KeptRows& r, const KeptRows& y_gradient, const RowGradient& what,
                   float* a_gradient) {
  if (r.storage == Storage::kFloat)
    gradient_kept(shape, values<const float>(r), values<const float>(y_gradient), what, a_gradient);
  else
    gradient_kept(shape, values<const uint16_t>(r), values<const uint16_t>(y_gradient), what, a_gradient);
}

template <class T>
void through_dropout_kept(const RowShape& shape, const float* y_gradient, const RowTransform& what, const T* r,
                          double* sums, T* out) {
  const Vec kept = broadcast(what.kept);
  for (int64_t line = 0; line < shape.rows * shape.channels; ++line) {
    const int64_t c = line % shape.channels;
    const Vec mean = broadcast(what.mean == nullptr ? 0.0F : what.mean[c]);
    for (int64_t lane = 0; lane < 16; lane += kLanes) {
      Vec sum = broadcast(0.0F), products = broadcast(0.0F);
      for (int64_t z = 0; z < shape.cells; ++z) {
        const int64_t cell = line * shape.cells + z;
        Vec gradient = load(y_gradient + cell * 16 + lane);
        if (what.mask != nullptr)
          gradient = keep(multiply(gradient, kept), static_cast<unsigned>(what.mask[cell] >> lane));
        gradient = as_kept(out, gradient);
        keep_late(out + cell * 16 + lane, gradient);
        if (sums == nullptr) continue;
        sum = add(sum, gradient);
        products = multiply_add(gradient, subtract(load_kept(r + cell * 16 + lane), mean), products);
      }
      if (sums == nullptr) continue;
      add_to_doubles(sum, sums + c * 32 + lane);
      add_to_doubles(products, sums + c * 32 + 16 + lane);
    }
  }
  finish_streams();
}

void through_dropout(const RowShape& shape, const float* y_gradient, const RowTransform& what, const KeptRows& r,
                     double* sums, const KeptRows& out) {
  if (out.storage == Storage::kFloat)
    through_dropout_kept(shape, y_gradient, what, values<const float>(r), sums, values<float>(out));
  else
    through_dropout_kept(shape, y_gradient, what, values<const uint16_t>(r), sums, values<uint16_t>(out));
}

void add_cells(const RowShape& shape, const float* rows, double* sums) {
  for (int64_t line = 0; line < shape.rows * shape.channels; ++line) {
    for (int64_t lane = 0; lane < 16; lane += kLanes) {
      const float* const cells = rows + line * shape.cells * 16 + lane;
      Vec sum = broadcast(0.0F);
      for (int64_t z = 0; z < shape.cells; ++z) sum = add(sum, load(cells + z * 16));
      add_to_doubles(sum, sums + line % shape.channels * 32 + lane);
    }
  }
}

void pool(const RowShape& shape, const float* rows, int64_t size_z, float factor, float* out) {
  const int64_t cells = shape.cells / size_z;
  const Vec scale = broadcast(factor);
  for (int64_t line = 0; line < shape.rows * shape.channels; ++line) {
    const float* const from = rows + line * shape.cells * 16;
    float* const to = out + line % shape.channels * cells * 16;
    for (int64_t i = 0; i < cells * 16; i += kLanes) {
      const int64_t z = i / 16 * size_z, lane = i % 16;
      Vec sum = load(from + z * 16 + lane);
      for (int64_t k = 1; k < size_z; ++k) sum = add(sum, load(from + (z + k) * 16 + lane));
      store(to + i, add(load(to + i), multiply(sum, scale)));
    }
  }
}

void unpool(const RowShape& shape, const float* gradient, int64_t size_z, float factor, float* rows) {
  const int64_t cells = shape.cells / size_z;
  const Vec scale = broadcast(factor);
  for (int64_t line = 0; line < shape.rows * shape.channels; ++line) {
    const float* const from = gradient + line % shape.channels * cells * 16;
    float* const to = rows + line * shape.cells * 16;
    for (int64_t i = 0; i < shape.cells * 16; i += kLanes) {
      const int64_t cell = i / 16 / size_z;
      store(to + i, cell < cells ? multiply(load(from + cell * 16 + i % 16), scale) : broadcast(0.0F));
    }
  }
}

/// Bits of the cells of one window and row, which came one after the other: a later cell wins. What any of them won.
inline unsigned settle_winners(int64_t size, uint16_t* bits) {
  unsigned won = 0;
  for (int64_t k = size - 1; k >= 0; --k) {
    const unsigned taken = bits[k];
    bits[k] = static_cast<uint16_t>(taken & ~won);
    won |= taken;
  }
  return won;
}

void max_pool(const RowShape& row, const float* cells, int64_t size_z, int64_t earlier, float* best, uint16_t* bits) {
  const int64_t windows = row.cells / size_z;
  for (int64_t c = 0; c < row.channels; ++c) {
    for (int64_t i = 0; i < windows; ++i) {
      const int64_t first = c * row.cells + i * size_z;
      const float* const from = cells + first * 16;
      float* const to = best + (c * windows + i) * 16;
      uint16_t* const won = bits == nullptr ? nullptr : bits + first;
      for (int64_t lane = 0; lane < 16; lane += kLanes) {
        Vec largest = earlier > 0 ? load(to + lane) : load(from + lane);
        for (int64_t k = 0; k < size_z; ++k) {
          unsigned taken = take_larger(largest, load(from + k * 16 + lane));
          if (won == nullptr) continue;
          if (k == 0 && earlier == 0) taken = (1U << kLanes) - 1;
          won[k] = static_cast<uint16_t>((lane == 0 ? 0U : won[k]) | taken << lane);
        }
        store(to + lane, largest);
      }
      if (won == nullptr) continue;
      const unsigned all = settle_winners(size_z, won);
      for (int64_t e = 1; e <= earlier && all != 0; ++e) {
        for (int64_t k = 0; k < size_z; ++k) {
          uint16_t& before = won[k - e * row.channels * row.cells];
          before = static_cast<uint16_t>(before & ~all);
        }
      }
    }
  }
}

void max_planes(const RowShape& pooled, const MaxWindow& window, int64_t earlier, float* best, const float* plane,
                uint16_t* bits) {
  for (int64_t line = 0; line < pooled.rows * pooled.channels; ++line) {
    const int64_t y = line / pooled.channels * window.size_y, c = line % pooled.channels;
    for (int64_t i = 0; i < pooled.cells; ++i) {
      const int64_t at = (line * pooled.cells + i) * 16;
      unsigned all = 0;
      for (int64_t lane = 0; lane < 16; lane += kLanes) {
        Vec largest = load(best + at + lane);
        all |= take_larger(largest, load(plane + at + lane)) << lane;
        store(best + at + lane, largest);
      }
      if (bits == nullptr) continue;
      for (int64_t dy = 0; dy < window.size_y; ++dy) {
        uint16_t* const won = bits + ((y + dy) * pooled.channels + c) * window.cells + i * window.size_z;
        for (int64_t k = 0; k < window.size_z; ++k) {
          won[k] = static_cast<uint16_t>(won[k] & all);
          for (int64_t e = 1; e <= earlier; ++e) {
            uint16_t& before = won[k - e * window.plane];
            before = static_cast<uint16_t>(before & ~all);
          }
        }
      }
    }
  }
}

void max_unpool(const RowShape& row, const float* gradient, int64_t size_z, const uint16_t* bits, float* cells) {
  const int64_t windows = row.cells / size_z;
  for (int64_t c = 0; c < row.channels; ++c) {
    float* to = cells + c * row.cells * 16;
    const uint16_t* won = bits + c * row.cells;
    for (int64_t i = 0; i < windows; ++i) {
      const float* const from = gradient + (c * windows + i) * 16;
      for (int64_t k = 0; k < size_z; ++k, to += 16, ++won) {
        for (int64_t lane = 0; lane < 16; lane += kLanes)
          store(to + lane, keep(load(from + lane), static_cast<unsigned>(*won >> lane)));
      }
    }
    for (int64_t i = windows * size_z * 16; i < row.cells * 16; i += kLanes, to += kLanes) store(to, broadcast(0.0F));
  }
}

/// One Philox block for each of 16 events: eight 16-bit numbers an event.
inline void philox_events(const uint32_t key[2], const uint32_t counter[2], const uint64_t blocks[16],
                          uint32_t words[4][16]) {
  uint32_t* const c0 = words[0];
  uint32_t* const c1 = words[1];
  uint32_t* const c2 = words[2];
  uint32_t* const c3 = words[3];
  for (int i = 0; i < 16; ++i) {
    c0[i] = static_cast<uint32_t>(blocks[i]);
    c1[i] = static_cast<uint32_t>(blocks[i] >> 32);
    c2[i] = counter[0];
    c3[i] = counter[1];
  }
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    for (int i = 0; i < 16; ++i) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c0[i], product1 = uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<uint32_t>(product1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(product1);
      c2[i] = static_cast<uint32_t>(product0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(product0);
    }
  }
}

void keep_bits(const uint32_t key[2], const uint32_t counter[2], uint64_t event, uint64_t event_blocks,
               int64_t first_element, int64_t count, uint32_t threshold, uint16_t* bits) {
  const int64_t end = first_element + count;
  for (int64_t block = first_element / 8; block * 8 < end; ++block) {
    uint64_t blocks[16];
    for (uint64_t i = 0; i < 16; ++i) blocks[i] = (event + i) * event_blocks + static_cast<uint64_t>(block);
    uint32_t words[4][16];
    philox_events(key, counter, blocks, words);
    for (int64_t n = 0; n < 8; ++n) {
      const int64_t element = block * 8 + n;
      if (element < first_element || element >= end) continue;
      bits[element - first_element] = not_below(words[n / 2], static_cast<int>(16 * (n % 2)), threshold);
    }
  }
}

double multiply_adds(int64_t rounds) {
  constexpr int kChains = kManyRegisters ? 24 : 12;
  Vec sums[kChains];
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) sums[i] = broadcast(1.0F);
  const Vec factor = broadcast(0.999F), term = broadcast(0.001F);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) sums[i] = in_register(multiply_add(sums[i], factor, term));
  }
  float result[kLanes] = {};
  for (int i = 1; i < kChains; ++i) sums[0] = add(sums[0], sums[i]);
  store(result, sums[0]);
  // The sum is part of the result, so that the loop is not thought useless.
  return 2.0 * kChains * kLanes * static_cast<double>(rounds) + (result[0] > 1e30F ? 1 : 0);
}

constexpr RowKernels kRows{transform_rows, activate,   gradient_rows, through_dropout, add_cells,     pool,  unpool,
                           max_pool,       max_planes, max_unpool,    keep_bits,       multiply_adds, block, unblock};

}  // namespace
}  // namespace linac::kernels
