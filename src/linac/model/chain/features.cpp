#include "linac/model/chain/features.h"

#include <algorithm>

#include "linac/base/base/float_clones.h"

namespace linac::chain {
namespace {

constexpr float kFarthest = 4;                   // of a place, in units of four cells
constexpr float kSmallestShare = 1e-3F;          // of a layer's energy, in logarithms
constexpr float kSmallestEnergy = 1.0F / 30000;  // in units

// The last of a cell's features are logarithms: of so many sums of energies, and of the two expected ones from their
// very smallest on. Lanes: what one vector takes.
constexpr int kSums = 12, kFullLogs = 2, kLanes = 16;

using Lanes = std::array<float, kLanes>;

constexpr Lanes lanes(float of_sums, float of_full) {
  Lanes result{};
  for (size_t k = 0; k < kLanes; ++k) result[k] = k < kSums ? of_sums : of_full;
  return result;
}

LINAC_FLOAT_CLONES void take_logarithms(Lanes& values) {
  static constexpr Lanes kOffsets = lanes(1, kSmallestEnergy), kFactors = lanes(0.25F, 0.2F);
  for (size_t k = 0; k < kLanes; ++k) values[k] = kFactors[k] * fast_log(values[k] + kOffsets[k]);
}

}  // namespace

void shared_numbers(const PassState& state, const Units& units, std::span<float> out) {
  const float unit_gev = units.cell_gev;
  const auto of_primary = [&](float energy) { return 0.3F * fast_log((energy + unit_gev / 3) / state.primary_gev); };
  const float layer = state.energy_gev + unit_gev / 300, left = std::max(state.remaining_gev, 0.0F) / layer;
  size_t k = 0;
  out[k++] = fast_log(state.primary_gev / units.primary_gev);
  out[k++] = state.cotangent;
  out[k++] = state.shift - std::floor(state.shift);
  out[k++] = logarithm_of(state.energy_gev / unit_gev);
  out[k++] = of_primary(state.energy_gev);
  out[k++] = of_primary(state.last.energy_gev);
  out[k++] = of_primary(state.before_last.energy_gev);
  out[k++] = state.before_gev / state.primary_gev;
  out[k++] = fast_log(left + kSmallestShare);
  for (const float guessed : state.guessed_gev) out[k++] = fast_log(guessed / layer + kSmallestShare);
  for (const float guessed : state.guessed_gev)
    out[k++] = guessed > 0 ? fast_log((left + kSmallestShare) / (guessed / layer + kSmallestShare)) : 0;
  out[k++] = 0.5F * fast_log(1 + state.last.hits);
  out[k++] = 0.5F * fast_log(1 + state.before_last.hits);
  out[k++] = 0.5F * fast_log(1 + state.hits);
  out[k++] = std::clamp(state.last.x, -3.0F, 3.0F);
  out[k++] = std::clamp(state.last.y, -3.0F, 3.0F);
  out[k++] = 0.5F * std::min(state.last.width, 6.0F);
}

void cell_features(const Neighbourhood& around, const PassState& state, const Units& units, int64_t i, int64_t j,
                   float* out) {
  const PlaneShape& shape = *around.shape;
  const int64_t row = shape.row();
  const float u = static_cast<float>(i) + 0.5F - around.axis.x, v = static_cast<float>(j) + 0.5F - around.axis.y;
  const float square = u * u + v * v, per_unit = 1 / units.cell_gev;
  const auto at = static_cast<size_t>(shape.at(i, j));
  const float *last = &around.maps->last()[at], *before = &around.maps->before_last()[at],
              *memory = &around.maps->memory()[at], *drawn = &(*around.drawn)[at];
  const float *last_log = &(*around.last_log)[at], *drawn_log = &(*around.drawn_log)[at];
  const int8_t* pass = &(*around.passes)[at];

  *out++ = std::clamp(0.25F * u, -kFarthest, kFarthest);
  *out++ = std::clamp(0.25F * v, -kFarthest, kFarthest);
  *out++ = fast_log(1 + std::sqrt(square));
  *out++ = 1 / (1 + square);
  for (int64_t di = -1; di <= 1; ++di)
    for (int64_t dj = -1; dj <= 1; ++dj) *out++ = last_log[di * row + dj];
  int beside = 0, diagonal = 0;
  for (int64_t di = -1; di <= 1; ++di) {
    for (int64_t dj = -1; dj <= 1; ++dj) {
      if (di == 0 && dj == 0) continue;
      *out++ = drawn_log[di * row + dj];
      if (pass[di * row + dj] < state.pass) ++(di == 0 || dj == 0 ? beside : diagonal);
    }
  }
  *out++ = 0.25F * static_cast<float>(beside);
  *out++ = 0.25F * static_cast<float>(diagonal);

  // The cells two steps away, row by row.
  const auto ring = [row](const float* cell) {
    float sum = 0;
    for (const int64_t di : {-2 * row, 2 * row})
      for (int64_t dj = -2; dj <= 2; ++dj) sum += cell[di + dj];
    for (const int64_t di : {-row, int64_t{0}, row}) sum += cell[di - 2] + cell[di + 2];
    return sum;
  };
  Lanes logarithms{};
  float* to = logarithms.data();
  *to++ = before[0] * per_unit;
  *to++ = (before[-row] + before[row] + before[-1] + before[1]) * per_unit;
  *to++ = memory[0] * per_unit;
  *to++ = (memory[-row - 1] + memory[-row] + memory[-row + 1] + memory[-1] + memory[1] + memory[row - 1] + memory[row] +
           memory[row + 1]) *
          per_unit;
  std::array<float, kGuesses> expected{};  // of what remains
  const float remaining = std::max(state.remaining_gev, 0.0F) * per_unit;
  for (int k = 0; k < kGuesses; ++k) {
    const float guess = around.maps->guess(k)[at], whole = state.guessed_gev[static_cast<size_t>(k)];
    *to++ = guess * per_unit;
    if (whole > 0) expected[static_cast<size_t>(k)] = guess * remaining / whole;
  }
  for (const float energy : expected) *to++ = energy;
  *to++ = ring(last) * per_unit;
  *to++ = ring(drawn) * per_unit;
  *to++ = expected[1];
  *to++ = expected[2];
  take_logarithms(logarithms);
  std::copy_n(logarithms.begin(), kSums + kFullLogs, out);
}

}  // namespace linac::chain
