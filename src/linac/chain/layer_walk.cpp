#include "linac/chain/layer_walk.h"

#include <algorithm>
#include <cmath>

#include "linac/base/error.h"
#include "linac/base/float_clones.h"

namespace linac::chain {
namespace {

constexpr float kFarSquare = 100;  // cells squared, of a layer's width

// Cells with energy in front of them, or a memory of more than `least_gev`.
LINAC_FLOAT_CLONES void mark_lively(const Plane& last, const Plane& memory, float least_gev,
                                    std::vector<int8_t>& lively) {
  for (size_t at = 0; at < lively.size(); ++at)
    lively[at] = static_cast<int8_t>((last[at] > 0 ? 1 : 0) | (memory[at] > least_gev ? 1 : 0));
}

}  // namespace

LayerSummary summary_of(std::span<const DrawnHit> hits, const Axis& axis) {
  LayerSummary summary;
  float squares = 0;
  for (const DrawnHit& hit : hits) {
    const float u = static_cast<float>(hit.i) + 0.5F - axis.x, v = static_cast<float>(hit.j) + 0.5F - axis.y;
    summary.hits += 1;
    summary.energy_gev += hit.energy_gev;
    summary.x += hit.energy_gev * u;
    summary.y += hit.energy_gev * v;
    squares += hit.energy_gev * std::min(u * u + v * v, kFarSquare);
  }
  if (!(summary.energy_gev > 0)) return summary;
  summary.x /= summary.energy_gev;
  summary.y /= summary.energy_gev;
  summary.width = std::sqrt(squares / summary.energy_gev);
  return summary;
}

LayerWalk::LayerWalk(const Surroundings& around)
    : around_(&around),
      maps_(around.detector.cells, around.memory),
      shared_(static_cast<size_t>(shared_features(static_cast<int64_t>(around.detector.sensor_depth.size())))) {
  const auto size = static_cast<size_t>(around.detector.cells.size());
  for (Plane* plane : {&plane_, &last_plane_, &last_log_, &drawn_log_}) plane->resize(size);
  passes_.resize(size);
  lively_.resize(size);
}

void LayerWalk::begin_shower(const Surroundings& around, float energy_gev, float cotangent, const Axis& entry) {
  LINAC_CHECK(static_cast<size_t>(around.detector.cells.size()) == plane_.size());
  around_ = &around;
  entry_ = entry;
  state_ = {};
  state_.primary_gev = energy_gev;
  state_.cotangent = cotangent;
  maps_.begin_shower();
  summaries_.clear();
}

void LayerWalk::begin_layer(float energy_gev) {
  const std::vector<float>& depth = around_->detector.sensor_depth;
  const size_t z = summaries_.size();
  state_.layer = static_cast<int64_t>(z);
  state_.shift = z > 0 ? (depth[z] - depth[z - 1]) * state_.cotangent : 0;
  axis_ = {entry_.x, entry_.y + depth[z] * state_.cotangent};
  state_.energy_gev = energy_gev;
  state_.remaining_gev = energy_gev;
  state_.hits = 0;
  if (z > 0) {
    std::swap(plane_, last_plane_);
    maps_.carry(last_plane_, state_.shift);
  }
  std::fill(plane_.begin(), plane_.end(), 0.0F);
  std::fill(drawn_log_.begin(), drawn_log_.end(), 0.0F);
  if (!(energy_gev > 0)) return;
  for (size_t at = 0; at < last_log_.size(); ++at) {
    const float last = maps_.last()[at];
    last_log_[at] = last > 0 ? logarithm_of(last / around_->units.cell_gev) : 0;
  }
  mark_lively(maps_.last(), maps_.memory(), 2.0F / 3 * around_->units.cell_gev, lively_);
  maps_.guess(around_->mean_by_radius.layer(state_.layer), axis_, state_.energy_gev);
  begin_passes();
}

// Which cells are drawn when, and what the guesses give to each pass and those behind it.
void LayerWalk::begin_passes() {
  const PlaneShape& shape = around_->detector.cells;
  guessed_ = {};
  for (std::vector<CellPlace>& cells : near_) cells.clear();
  // All are as in the halo, but those about the axis.
  for (size_t k = 0; k < kGuesses; ++k) {
    const Colours& colours = maps_.colours(static_cast<int>(k));
    guessed_[0][k] = colours.even;
    guessed_[1][k] = colours.odd;
  }
  for (int64_t i = -kBorder; i < shape.x + kBorder; ++i) {
    auto colour = static_cast<int8_t>((i + kBorder) & 1);  // of j = -kBorder
    int8_t* row = &passes_[static_cast<size_t>(shape.at(i, -kBorder))];
    for (int64_t j = 0; j < shape.row(); ++j, colour ^= 1) row[j] = colour;
  }
  const auto reach = static_cast<int64_t>(std::ceil(around_->halo.begins)) + 1;
  const auto middle_i = static_cast<int64_t>(std::floor(axis_.x)), middle_j = static_cast<int64_t>(std::floor(axis_.y));
  const int64_t i_end = std::min(middle_i + reach + 1, shape.x + kBorder),
                j_end = std::min(middle_j + reach + 1, shape.y + kBorder);
  for (int64_t i = std::max(middle_i - reach, -kBorder); i < i_end; ++i)
    for (int64_t j = std::max(middle_j - reach, -kBorder); j < j_end; ++j) mark(i, j);
  for (size_t pass = kPasses - 1; pass > 0; --pass)
    for (size_t k = 0; k < kGuesses; ++k) guessed_[pass - 1][k] += guessed_[pass][k];
}

void LayerWalk::mark(int64_t i, int64_t j) {
  const PlaneShape& shape = around_->detector.cells;
  const float square = distance_squared(i, j, axis_);
  const auto at = static_cast<size_t>(shape.at(i, j));
  const auto pass = static_cast<size_t>(pass_of(i, j, square, axis_, around_->rings));
  const auto colour = static_cast<size_t>(passes_[at]);
  passes_[at] = static_cast<int8_t>(pass);
  if (i < 0 || i >= shape.x || j < 0 || j >= shape.y) return;
  if (pass >= kHaloPasses) {
    for (size_t k = 0; k < kGuesses; ++k) {
      const float guess = maps_.guess(static_cast<int>(k))[at];
      guessed_[colour][k] -= guess;
      guessed_[pass][k] += guess;
    }
  }
  if (pass >= kHaloPasses || square < around_->halo.begins * around_->halo.begins)
    near_[pass].push_back({static_cast<int16_t>(i), static_cast<int16_t>(j)});
}

void LayerWalk::begin_pass(int pass) {
  state_.pass = pass;
  state_.guessed_gev = guessed_[static_cast<size_t>(pass)];
  std::fill(shared_.begin(), shared_.end(), 0.0F);
  const size_t layers = around_->detector.sensor_depth.size();
  shared_[static_cast<size_t>(state_.layer)] = 1;
  shared_[layers + static_cast<size_t>(pass)] = 1;
  shared_numbers(state_, around_->units, std::span(shared_).subspan(layers + kPasses));
}

void LayerWalk::features(int64_t i, int64_t j, float* out) const {
  const Neighbourhood around{&around_->detector.cells, &maps_, &last_log_, &plane_, &drawn_log_, &passes_, axis_};
  cell_features(around, state_, around_->units, i, j, out);
}

void LayerWalk::put(int64_t i, int64_t j, float energy_gev) {
  const PlaneShape& shape = around_->detector.cells;
  const auto at = static_cast<size_t>(shape.at(i, j));
  plane_[at] = energy_gev;
  for (const int64_t beside : {-shape.row(), int64_t{-1}, int64_t{1}, shape.row()})
    lively_[at + static_cast<size_t>(beside)] = 1;
  drawn_log_[at] = logarithm_of(energy_gev / around_->units.cell_gev);
  state_.remaining_gev -= energy_gev;
  state_.hits += 1;
}

void LayerWalk::replace(int64_t i, int64_t j, float energy_gev) {
  plane_[static_cast<size_t>(around_->detector.cells.at(i, j))] = energy_gev;
}

void LayerWalk::end_layer(std::span<const DrawnHit> hits) {
  summaries_.push_back(summary_of(hits, axis_));
  state_.before_last = state_.last;
  state_.last = summaries_.back();
  state_.before_gev += state_.last.energy_gev;
}

}  // namespace linac::chain
