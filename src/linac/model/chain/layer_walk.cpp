#include "linac/model/chain/layer_walk.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/float_clones.h"

namespace linac::chain {
namespace {

constexpr float kFarSquare = 100;  // cells squared, of a layer's width

// Of energies in their unit. Most rows are empty.
LINAC_FLOAT_CLONES void take_logarithms(const PlaneShape& shape, const Plane& energies, float unit_gev, Plane& to) {
  for (int64_t i = 0; i < shape.rows(); ++i) {
    const float* in = &energies[static_cast<size_t>(i * shape.row())];
    float* __restrict out = &to[static_cast<size_t>(i * shape.row())];
    int32_t any = 0;
    for (int64_t j = 0; j < shape.row(); ++j) any |= std::bit_cast<int32_t>(in[j]);
    if (any == 0) {
      std::fill_n(out, shape.row(), 0.0F);
      continue;
    }
    for (int64_t j = 0; j < shape.row(); ++j) {
      const float logarithm = logarithm_of(in[j] / unit_gev);
      out[j] = in[j] > 0 ? logarithm : 0;
    }
  }
}

// What of each guess is expected of a cell of the halo: chosen so that cells of which as much is expected have chances
// of a hit that differ little.
constexpr std::array<float, kGuesses> kExpected{1, 0.5F, 0.5F};

int8_t colour_of(const PlaneShape& shape, size_t at) {
  const auto place = static_cast<int64_t>(at);
  return static_cast<int8_t>((place / shape.row() + place % shape.row()) & 1);
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
  for (size_t at = 0; at < size; ++at) passes_[at] = colour_of(around.detector.cells, at);
  beside_.resize(size + kPieceCells);
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
  clear_layer();
  if (!(energy_gev > 0)) return;
  take_logarithms(around_->detector.cells, maps_.last(), around_->units.cell_gev, last_log_);
  maps_.guess(around_->mean_by_radius.layer(state_.layer), axis_, state_.energy_gev);
  begin_passes();
}

// The layer that was becomes the one in front, and the one in front of that is forgotten.
void LayerWalk::clear_layer() {
  const int64_t row = around_->detector.cells.row();
  for (const size_t at : filled_) {
    drawn_log_[at] = 0;
    for (const int64_t beside : {-row, int64_t{-1}, int64_t{1}, row}) beside_[at + static_cast<size_t>(beside)] = 0;
  }
  if (!summaries_.empty()) {
    std::swap(plane_, last_plane_);
    std::swap(filled_, last_filled_);
    maps_.carry(last_plane_, state_.shift);
  }
  for (const size_t at : filled_) plane_[at] = 0;
  filled_.clear();
}

// Which cells are drawn when, and what the guesses give to each pass and those behind it.
void LayerWalk::begin_passes() {
  const PlaneShape& shape = around_->detector.cells;
  guessed_ = {};
  for (std::vector<CellPlace>& cells : cells_) cells.clear();
  for (const size_t at : marked_) passes_[at] = colour_of(shape, at);
  marked_.clear();
  // All are as in the halo, but those about the axis.
  for (size_t k = 0; k < kGuesses; ++k) {
    const Colours& colours = maps_.colours(static_cast<int>(k));
    guessed_[0][k] = colours.even;
    guessed_[1][k] = colours.odd;
  }
  const auto reach = static_cast<int64_t>(std::ceil(around_->rings.ring)) + 1;
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
  if (pass < kHaloPasses) return;
  const auto colour = static_cast<size_t>(passes_[at]);
  passes_[at] = static_cast<int8_t>(pass);
  marked_.push_back(at);
  if (i < 0 || i >= shape.x || j < 0 || j >= shape.y) return;
  for (size_t k = 0; k < kGuesses; ++k) {
    const float guess = maps_.guess(static_cast<int>(k))[at];
    guessed_[colour][k] -= guess;
    guessed_[pass][k] += guess;
  }
  cells_[pass].push_back({static_cast<int16_t>(i), static_cast<int16_t>(j)});
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
  filled_.push_back(at);
  for (const int64_t beside : {-shape.row(), int64_t{-1}, int64_t{1}, shape.row()})
    ++beside_[at + static_cast<size_t>(beside)];
  drawn_log_[at] = logarithm_of(energy_gev / around_->units.cell_gev);
  state_.remaining_gev -= energy_gev;
  state_.hits += 1;
}

void LayerWalk::replace(int64_t i, int64_t j, float energy_gev) {
  const auto at = static_cast<size_t>(around_->detector.cells.at(i, j));
  plane_[at] = energy_gev;
  filled_.push_back(at);
}

bool LayerWalk::lively(size_t at) const {
  return maps_.last()[at] > 0 || maps_.memory()[at] > 2.0F / 3 * around_->units.cell_gev || beside_[at] > 0;
}

LayerWalk::Outlook LayerWalk::outlook() const {
  Outlook outlook{
      .shape = around_->detector.cells, .guesses = {}, .largest = {}, .weights = {}, .beside = beside_.data()};
  const float remaining = std::max(state_.remaining_gev, 0.0F) / around_->units.cell_gev;
  for (size_t k = 0; k < kGuesses; ++k) {
    outlook.guesses[k] = maps_.guess(static_cast<int>(k)).data();
    outlook.largest[k] = maps_.largest(static_cast<int>(k)).data();
    const float whole = state_.guessed_gev[k];
    outlook.weights[k] = whole > 0 ? kExpected[k] * remaining / whole : 0;
  }
  return outlook;
}

void LayerWalk::end_layer(std::span<const DrawnHit> hits) {
  summaries_.push_back(summary_of(hits, axis_));
  state_.before_last = state_.last;
  state_.last = summaries_.back();
  state_.before_gev += state_.last.energy_gev;
}

}  // namespace linac::chain
