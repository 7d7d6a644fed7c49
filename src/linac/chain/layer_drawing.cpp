#include "linac/chain/layer_drawing.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "linac/base/float_clones.h"

namespace linac::chain {
namespace {

// The last pass alone takes up what is missing if its factor is within these; else all cells do, within the others.
constexpr float kLastFactorMin = 0.6F, kLastFactorMax = 1.6F, kFactorMin = 0.5F, kFactorMax = 2;
constexpr float kFarSquare = 100;  // cells squared, of a layer's width

// Cells with energy in front of them, or a memory of more than `least_gev`.
LINAC_FLOAT_CLONES void mark_lively(const Plane& last, const Plane& memory, float least_gev,
                                    std::vector<int8_t>& lively) {
  for (size_t at = 0; at < lively.size(); ++at)
    lively[at] = static_cast<int8_t>((last[at] > 0 ? 1 : 0) | (memory[at] > least_gev ? 1 : 0));
}

}  // namespace

LayerDrawing::LayerDrawing(const ChainParts& parts, ShowerChain::Workspace& workspace, float energy_gev,
                           float cotangent, const Axis& entry, physics::NumberSequence& numbers)
    : parts_(parts), room_(workspace), numbers_(numbers), entry_(entry) {
  state_.primary_gev = energy_gev;
  state_.cotangent = cotangent;
  room_.maps_.begin_shower();
  room_.summaries_.clear();
}

void LayerDrawing::draw(size_t z) {
  const std::vector<float>& depth = parts_.detector.sensor_depth;
  state_.layer = static_cast<int64_t>(z);
  state_.shift = z > 0 ? (depth[z] - depth[z - 1]) * state_.cotangent : 0;
  axis_ = {entry_.x, entry_.y + depth[z] * state_.cotangent};
  const std::array<double, 4> uniform{numbers_.uniform(), numbers_.uniform(), numbers_.uniform(), numbers_.uniform()};
  state_.energy_gev = parts_.layer_energy.draw({state_.primary_gev, state_.cotangent, room_.summaries_}, uniform);
  state_.remaining_gev = state_.energy_gev;
  state_.hits = 0;
  if (z > 0) room_.maps_.carry(room_.layers_[z - 1], state_.shift);
  plane_ = &room_.layers_[z];
  hits_ = &room_.hits_of_[z];
  std::fill(plane_->begin(), plane_->end(), 0.0F);
  std::fill(room_.drawn_log_.begin(), room_.drawn_log_.end(), 0.0F);
  hits_->clear();
  if (state_.energy_gev > 0) {
    for (size_t at = 0; at < room_.last_log_.size(); ++at) {
      const float last = room_.maps_.last()[at];
      room_.last_log_[at] = last > 0 ? logarithm_of(last / parts_.units.cell_gev) : 0;
    }
    mark_lively(room_.maps_.last(), room_.maps_.memory(), 2.0F / 3 * parts_.units.cell_gev, room_.lively_);
    room_.maps_.guess(parts_.mean_by_radius.layer(state_.layer), axis_, state_.energy_gev);
    begin_passes();
    for (int pass = 0; pass < kPasses; ++pass) draw_pass(pass);
    scale_to_energy();
  }
  room_.summaries_.push_back(summary());
  state_.before_last = state_.last;
  state_.last = room_.summaries_.back();
  state_.before_gev += state_.last.energy_gev;
}

// Which cells are drawn when, and what the guesses give to each pass and those behind it.
void LayerDrawing::begin_passes() {
  const PlaneShape& shape = parts_.detector.cells;
  guessed_ = {};
  for (std::vector<Cell>& cells : room_.near_) cells.clear();
  // All are as in the halo, but those about the axis.
  for (size_t k = 0; k < kGuesses; ++k) {
    const Colours& colours = room_.maps_.colours(static_cast<int>(k));
    guessed_[0][k] = colours.even;
    guessed_[1][k] = colours.odd;
  }
  for (int64_t i = -kBorder; i < shape.x + kBorder; ++i) {
    auto colour = static_cast<int8_t>((i + kBorder) & 1);  // of j = -kBorder
    int8_t* row = &room_.passes_[static_cast<size_t>(shape.at(i, -kBorder))];
    for (int64_t j = 0; j < shape.row(); ++j, colour ^= 1) row[j] = colour;
  }
  const auto reach = static_cast<int64_t>(std::ceil(parts_.halo.begins)) + 1;
  const auto middle_i = static_cast<int64_t>(std::floor(axis_.x)), middle_j = static_cast<int64_t>(std::floor(axis_.y));
  const int64_t i_end = std::min(middle_i + reach + 1, shape.x + kBorder),
                j_end = std::min(middle_j + reach + 1, shape.y + kBorder);
  for (int64_t i = std::max(middle_i - reach, -kBorder); i < i_end; ++i)
    for (int64_t j = std::max(middle_j - reach, -kBorder); j < j_end; ++j) mark(i, j);
  for (size_t pass = kPasses - 1; pass > 0; --pass)
    for (size_t k = 0; k < kGuesses; ++k) guessed_[pass - 1][k] += guessed_[pass][k];
}

void LayerDrawing::mark(int64_t i, int64_t j) {
  const PlaneShape& shape = parts_.detector.cells;
  const float square = distance_squared(i, j, axis_);
  const auto at = static_cast<size_t>(shape.at(i, j));
  const auto pass = static_cast<size_t>(pass_of(i, j, square, axis_, parts_.rings));
  const auto colour = static_cast<size_t>(room_.passes_[at]);
  room_.passes_[at] = static_cast<int8_t>(pass);
  if (i < 0 || i >= shape.x || j < 0 || j >= shape.y) return;
  if (pass >= kHaloPasses) {
    for (size_t k = 0; k < kGuesses; ++k) {
      const float guess = room_.maps_.guess(static_cast<int>(k))[at];
      guessed_[colour][k] -= guess;
      guessed_[pass][k] += guess;
    }
  }
  if (pass >= kHaloPasses || square < parts_.halo.begins * parts_.halo.begins)
    room_.near_[pass].push_back({static_cast<int16_t>(i), static_cast<int16_t>(j), 1});
}

// How many cells from here on the next one is looked at, 1: the next; by a geometric distribution.
int64_t LayerDrawing::cells_to_next(float part) {
  if (part >= 1) return 1;
  const double steps = std::log(numbers_.uniform()) / std::log1p(-static_cast<double>(part));
  constexpr double kFarthest = 1e9;
  return 1 + static_cast<int64_t>(std::min(steps, kFarthest));
}

// Those with energy in front or beside.
void LayerDrawing::choose_lively(int pass) {
  const PlaneShape& shape = parts_.detector.cells;
  const float nearest = parts_.halo.begins * parts_.halo.begins;  // what is nearer is in begin_passes()
  constexpr int64_t kAtOnce = sizeof(uint64_t);
  for (int64_t i = 0; i < shape.x; ++i) {
    const int8_t* lively = &room_.lively_[static_cast<size_t>(shape.at(i, 0))];
    for (int64_t begin = 0; begin < shape.y; begin += kAtOnce) {
      const int64_t end = std::min(begin + kAtOnce, shape.y);
      uint64_t any = 0;
      std::memcpy(&any, lively + begin, static_cast<size_t>(end - begin));
      if (any == 0) continue;
      for (int64_t j = begin + ((i + pass + begin) & 1); j < end; j += 2)
        if (lively[j] != 0 && distance_squared(i, j, axis_) >= nearest)
          room_.cells_.push_back({static_cast<int16_t>(i), static_cast<int16_t>(j), 1});
    }
  }
}

// Of the other cells of a zone the part that is looked at.
void LayerDrawing::choose_in_zone(int pass, float begins, const Halo::Zone& zone) {
  const PlaneShape& shape = parts_.detector.cells;
  // In a box around the zone every second cell of a row, row by row.
  const auto cells_from = [](float at, int64_t most) {
    return static_cast<int64_t>(std::clamp(at, 0.0F, static_cast<float>(most)));
  };
  const int64_t i_begin = cells_from(axis_.x - zone.ends, shape.x),
                i_end = cells_from(axis_.x + zone.ends + 1, shape.x),
                j_begin = cells_from(axis_.y - zone.ends, shape.y),
                j_end = cells_from(axis_.y + zone.ends + 1, shape.y);
  const int64_t in_row = (j_end - j_begin + 1) / 2, all = (i_end - i_begin) * in_row;
  for (int64_t next = cells_to_next(zone.part) - 1; next < all; next += cells_to_next(zone.part)) {
    const int64_t i = i_begin + next / in_row;
    const int64_t j = j_begin + ((i + pass + j_begin) & 1) + 2 * (next % in_row);
    const float square = distance_squared(i, j, axis_);
    if (j >= j_end || square < begins * begins || square >= zone.ends * zone.ends) continue;
    if (room_.lively_[static_cast<size_t>(shape.at(i, j))] == 0)
      room_.cells_.push_back({static_cast<int16_t>(i), static_cast<int16_t>(j), zone.part});
  }
}

void LayerDrawing::choose_cells(int pass) {
  room_.cells_ = room_.near_[static_cast<size_t>(pass)];
  if (pass >= kHaloPasses) return;
  choose_lively(pass);
  float begins = parts_.halo.begins;
  for (const Halo::Zone& zone : parts_.halo.zones) {
    choose_in_zone(pass, begins, zone);
    begins = zone.ends;
  }
}

void LayerDrawing::draw_pass(int pass) {
  choose_cells(pass);
  if (room_.cells_.empty()) return;
  const CellNetwork& network = parts_.network;
  const auto cells = static_cast<int64_t>(room_.cells_.size());
  state_.pass = pass;
  state_.guessed_gev = guessed_[static_cast<size_t>(pass)];

  room_.shared_.assign(static_cast<size_t>(network.shared.inputs()), 0.0F);
  room_.shared_[static_cast<size_t>(state_.layer)] = 1;
  const auto layers = static_cast<int64_t>(room_.layers_.size());
  room_.shared_[static_cast<size_t>(layers + pass)] = 1;
  shared_numbers(state_, parts_.units, std::span(room_.shared_).subspan(static_cast<size_t>(layers + kPasses)));
  room_.bias_.resize(static_cast<size_t>(network.shared.stride()));
  network.shared.apply(room_.shared_.data(), network.shared.inputs(), 1, Activation::kNone, room_.bias_.data());

  room_.features_.resize(static_cast<size_t>(cells * kCellFeatures));
  const Neighbourhood around{&parts_.detector.cells, &room_.maps_, &room_.last_log_, plane_, &room_.drawn_log_,
                             &room_.passes_,         axis_};
  for (size_t c = 0; c < room_.cells_.size(); ++c)
    cell_features(around, state_, parts_.units, room_.cells_[c].i, room_.cells_[c].j,
                  &room_.features_[c * kCellFeatures]);
  room_.first_.resize(static_cast<size_t>(cells * network.cell.stride()));
  room_.second_.resize(static_cast<size_t>(cells * network.hidden.stride()));
  room_.chances_.resize(static_cast<size_t>(cells * network.hit.stride()));
  network.cell.apply(room_.features_.data(), kCellFeatures, cells, Activation::kRelu, room_.first_.data(),
                     room_.bias_.data());
  network.hidden.apply(room_.first_.data(), network.cell.stride(), cells, Activation::kRelu, room_.second_.data());
  network.hit.apply(room_.second_.data(), network.hidden.stride(), cells, Activation::kNone, room_.chances_.data());

  room_.hit_.clear();
  const auto hit_stride = static_cast<size_t>(network.hit.stride());
  for (size_t c = 0; c < room_.cells_.size(); ++c) {
    const float chance = 1 / (1 + fast_exp(-room_.chances_[c * hit_stride]));
    if (numbers_.uniform() * static_cast<double>(room_.cells_[c].part) < static_cast<double>(chance))
      room_.hit_.push_back(c);
  }
  if (!room_.hit_.empty()) draw_energies();
}

// Of the cells that are hit.
void LayerDrawing::draw_energies() {
  const CellNetwork& network = parts_.network;
  const auto hits = static_cast<int64_t>(room_.hit_.size());
  const auto hidden = static_cast<size_t>(network.hidden.stride());
  room_.first_.resize(room_.hit_.size() * hidden);
  for (size_t h = 0; h < room_.hit_.size(); ++h)
    std::copy_n(&room_.second_[room_.hit_[h] * hidden], hidden, &room_.first_[h * hidden]);
  room_.third_.resize(static_cast<size_t>(hits * network.energy_hidden.stride()));
  room_.classes_.resize(static_cast<size_t>(hits * network.energy.stride()));
  network.energy_hidden.apply(room_.first_.data(), network.hidden.stride(), hits, Activation::kRelu,
                              room_.third_.data());
  network.energy.apply(room_.third_.data(), network.energy_hidden.stride(), hits, Activation::kNone,
                       room_.classes_.data());
  const auto classes = static_cast<size_t>(network.energy.outputs());
  for (size_t h = 0; h < room_.hit_.size(); ++h) {
    float* weights = &room_.classes_[h * static_cast<size_t>(network.energy.stride())];
    float rest = static_cast<float>(numbers_.uniform()) * exponentials(weights, classes);
    size_t chosen = 0;
    for (; chosen + 1 < classes && rest >= weights[chosen]; ++chosen) rest -= weights[chosen];
    const float low = network.edges[chosen], high = network.edges[chosen + 1];
    const float energy = std::exp2(low + (high - low) * static_cast<float>(numbers_.uniform()));
    const Cell& cell = room_.cells_[room_.hit_[h]];
    const auto at = static_cast<size_t>(parts_.detector.cells.at(cell.i, cell.j));
    (*plane_)[at] = energy;
    for (const int64_t beside : {-parts_.detector.cells.row(), int64_t{-1}, int64_t{1}, parts_.detector.cells.row()})
      room_.lively_[at + static_cast<size_t>(beside)] = 1;
    room_.drawn_log_[at] = logarithm_of(energy / parts_.units.cell_gev);
    hits_->push_back({cell.i, cell.j, static_cast<int8_t>(state_.pass), energy});
    state_.remaining_gev -= energy;
    state_.hits += 1;
  }
}

// What the cells have in all is not quite the layer's energy.
void LayerDrawing::scale_to_energy() {
  const PlaneShape& shape = parts_.detector.cells;
  float whole = 0, last = 0;
  for (const Hit& hit : *hits_) {
    whole += hit.energy_gev;
    if (hit.pass == kPasses - 1) last += hit.energy_gev;
  }
  if (!(whole > 0)) {  // no cell was hit: the one at the axis takes it all
    const auto i = std::clamp(static_cast<int64_t>(axis_.x), int64_t{0}, shape.x - 1);
    const auto j = std::clamp(static_cast<int64_t>(axis_.y), int64_t{0}, shape.y - 1);
    hits_->push_back({static_cast<int16_t>(i), static_cast<int16_t>(j), kPasses - 1, state_.energy_gev});
    (*plane_)[static_cast<size_t>(shape.at(i, j))] = state_.energy_gev;
    return;
  }
  const float last_factor = last > 0 ? (state_.energy_gev - (whole - last)) / last : 0;
  const bool by_last = last_factor > kLastFactorMin && last_factor < kLastFactorMax;
  const float factor = by_last ? last_factor : std::clamp(state_.energy_gev / whole, kFactorMin, kFactorMax);
  for (Hit& hit : *hits_) {
    if (by_last && hit.pass != kPasses - 1) continue;
    hit.energy_gev *= factor;
    (*plane_)[static_cast<size_t>(shape.at(hit.i, hit.j))] = hit.energy_gev;
  }
}

LayerSummary LayerDrawing::summary() const {
  LayerSummary summary;
  float squares = 0;
  for (const Hit& hit : *hits_) {
    const float u = static_cast<float>(hit.i) + 0.5F - axis_.x, v = static_cast<float>(hit.j) + 0.5F - axis_.y;
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

}  // namespace linac::chain
