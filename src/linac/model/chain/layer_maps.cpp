#include "linac/model/chain/layer_maps.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/float_clones.h"

namespace linac::chain {
namespace {

// to(y) = from(y - shift), linear between cells.
LINAC_FLOAT_CLONES void carry_along_y(const PlaneShape& shape, const Plane& from, float shift, Plane& to) {
  const float whole = std::floor(shift), part = shift - whole;
  const auto cells = std::min(static_cast<int64_t>(whole), shape.row() - 1);
  for (int64_t i = 0; i < shape.rows(); ++i) {
    const float* in = &from[static_cast<size_t>(i * shape.row())];
    float* out = &to[static_cast<size_t>(i * shape.row())];
    std::fill_n(out, cells, 0.0F);
    out += cells;
    out[0] = (1 - part) * in[0];
    const int64_t rest = shape.row() - cells;
    for (int64_t j = 1; j < rest; ++j) out[j] = (1 - part) * in[j] + part * in[j - 1];
  }
}

// By 1 2 1 along both axes; the outermost cells are left out.
LINAC_FLOAT_CLONES void blur(const PlaneShape& shape, const Plane& from, Plane& to) {
  const int64_t row = shape.row();
  for (int64_t i = 1; i + 1 < shape.rows(); ++i) {
    const float* in = &from[static_cast<size_t>(i * row)];
    float* out = &to[static_cast<size_t>(i * row)];
    for (int64_t j = 1; j + 1 < row; ++j) {
      out[j] = 0.25F * in[j] + 0.125F * (in[j - row] + in[j + row] + in[j - 1] + in[j + 1]) +
               0.0625F * (in[j - row - 1] + in[j - row + 1] + in[j + row - 1] + in[j + row + 1]);
    }
  }
}

// The table at each cell's distance from the axis; beyond its end the last value.
LINAC_FLOAT_CLONES void mean_shower(const PlaneShape& shape, std::span<const float> by_radius, const Axis& axis,
                                    Plane& map) {
  const float limit = std::nextafter(static_cast<float>(by_radius.size() - 1), 0.0F);
  const float* __restrict table = by_radius.data();
  const auto last_step = static_cast<int32_t>(limit);
  const float last_part = limit - static_cast<float>(last_step);
  const float last = (1 - last_part) * table[last_step] + last_part * table[last_step + 1];
  for (int64_t i = 0; i < shape.x; ++i) {
    const float u = static_cast<float>(i) + 0.5F - axis.x;
    float* __restrict out = &map[static_cast<size_t>(shape.at(i, 0))];
    if (std::abs(u) * RadialTable::kStepsPerCell > limit) {
      std::fill_n(out, shape.y, last);
      continue;
    }
    for (int32_t j = 0; j < static_cast<int32_t>(shape.y); ++j) {
      const float v = static_cast<float>(j) + 0.5F - axis.y;
      float radius = std::sqrt(u * u + v * v) * RadialTable::kStepsPerCell;
      radius = radius < limit ? radius : limit;
      const auto step = static_cast<int32_t>(radius);
      const float part = radius - static_cast<float>(step);
      out[j] = (1 - part) * table[step] + part * table[step + 1];
    }
  }
}

// Adds up the even rows and the odd ones.
LINAC_FLOAT_CLONES void sum_rows(const PlaneShape& shape, const Plane& map,
                                 std::array<std::vector<float>, 2>& columns) {
  for (std::vector<float>& sums : columns) std::fill(sums.begin(), sums.end(), 0.0F);
  for (int64_t i = 0; i < shape.x; ++i) {
    const float* in = &map[static_cast<size_t>(shape.at(i, 0))];
    float* __restrict sums = columns[static_cast<size_t>(i & 1)].data();
    for (int64_t j = 0; j < shape.y; ++j) sums[j] += in[j];
  }
}

LINAC_FLOAT_CLONES void multiply(Plane& map, float factor) {
  for (float& value : map) value *= factor;
}

// Of numbers >= 0, whose bits are in the same order.
LINAC_FLOAT_CLONES void largest_of_pieces(const PlaneShape& shape, const Plane& map, std::vector<float>& largest) {
  const int64_t pieces = shape.pieces();
  for (int64_t i = 0; i < shape.x; ++i) {
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const float* in = &map[static_cast<size_t>(shape.at(i, piece * kPieceCells))];
      int32_t most = 0;
      for (int64_t k = 0; k < kPieceCells; ++k) most = std::max(most, std::bit_cast<int32_t>(in[k]));
      largest[static_cast<size_t>(i * pieces + piece)] = std::bit_cast<float>(most);
    }
  }
}

Colours colours_of(const std::array<std::vector<float>, 2>& columns) {
  Colours sums;
  for (size_t row = 0; row < columns.size(); ++row)
    for (size_t j = 0; j < columns[row].size(); ++j) ((row + j) % 2 == 0 ? sums.even : sums.odd) += columns[row][j];
  return sums;
}

}  // namespace

LayerMaps::LayerMaps(const PlaneShape& shape, float memory) : shape_(shape), kept_(memory) {
  const auto size = static_cast<size_t>(shape.size());
  for (Plane* plane : {&last_, &before_last_, &memory_}) plane->resize(size);
  for (Plane* plane : {&scratch_, &guesses_[0], &guesses_[1], &guesses_[2]}) plane->resize(size + kPieceCells);
  for (std::vector<float>& sums : columns_) sums.resize(static_cast<size_t>(shape.y));
  for (std::vector<float>& largest : largest_) largest.resize(static_cast<size_t>(shape.x * shape.pieces()));
}

void LayerMaps::begin_shower() {
  for (Plane* plane : {&last_, &before_last_, &memory_}) std::fill(plane->begin(), plane->end(), 0.0F);
}

void LayerMaps::carry(const Plane& before, float shift) {
  LINAC_CHECK(shift >= 0 && before.size() == last_.size());
  carry_along_y(shape_, last_, shift, before_last_);
  carry_along_y(shape_, before, shift, last_);
  for (size_t i = 0; i < memory_.size(); ++i) scratch_[i] = kept_ * memory_[i] + before[i];
  carry_along_y(shape_, scratch_, shift, memory_);
}

void LayerMaps::guess(std::span<const float> mean_by_radius, const Axis& axis, float energy_gev) {
  blur(shape_, last_, guesses_[0]);
  std::fill(scratch_.begin(), scratch_.end(), 0.0F);
  blur(shape_, memory_, scratch_);
  blur(shape_, scratch_, guesses_[1]);
  blur(shape_, guesses_[1], scratch_);
  std::swap(scratch_, guesses_[1]);
  mean_shower(shape_, mean_by_radius, axis, guesses_[2]);
  for (size_t k = 0; k < kGuesses; ++k) {
    sum_rows(shape_, guesses_[k], columns_);
    const Colours sums = colours_of(columns_);
    const float whole = sums.even + sums.odd, factor = whole > 0 ? energy_gev / whole : 0;
    multiply(guesses_[k], factor);
    colours_[k] = {sums.even * factor, sums.odd * factor};
    largest_of_pieces(shape_, guesses_[k], largest_[k]);
  }
}

}  // namespace linac::chain
