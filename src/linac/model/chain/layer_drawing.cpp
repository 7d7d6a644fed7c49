#include "linac/model/chain/layer_drawing.h"

#include <algorithm>
#include <cmath>

namespace linac::chain {
namespace {

// The last pass alone takes up what is missing if its factor is within these; else all cells do, within the others.
constexpr float kLastFactorMin = 0.6F, kLastFactorMax = 1.6F, kFactorMin = 0.5F, kFactorMax = 2;

}  // namespace

LayerDrawing::LayerDrawing(const ChainParts& parts, ShowerChain::Workspace& workspace, float energy_gev,
                           float cotangent, const Axis& entry, physics::NumberSequence& numbers)
    : parts_(parts), room_(workspace), walk_(workspace.walk_), numbers_(numbers) {
  walk_.begin_shower(parts, energy_gev, cotangent, entry);
}

void LayerDrawing::draw(size_t z) {
  const std::array<double, 4> uniform{numbers_.uniform(), numbers_.uniform(), numbers_.uniform(), numbers_.uniform()};
  const float energy_gev = parts_.layer_energy.draw(walk_.history(), uniform);
  walk_.begin_layer(energy_gev);
  hits_ = &room_.hits_of_[z];
  hits_->clear();
  if (energy_gev > 0) {
    for (int pass = 0; pass < kPasses; ++pass) draw_pass(pass);
    scale_to_energy();
  }
  walk_.end_layer(*hits_);
}

void LayerDrawing::choose_cells(int pass) {
  room_.cells_.clear();
  if (pass < kHaloPasses)
    choose_in_halo(pass, walk_, parts_.halo, numbers_, room_.cells_);
  else
    for (const CellPlace& cell : walk_.cells(pass)) room_.cells_.push_back({.at = cell});
}

void LayerDrawing::draw_pass(int pass) {
  walk_.begin_pass(pass);
  choose_cells(pass);
  if (room_.cells_.empty()) return;
  const CellNetwork& network = parts_.network;
  const auto cells = static_cast<int64_t>(room_.cells_.size());

  room_.bias_.resize(static_cast<size_t>(network.shared.stride()));
  network.shared.apply(walk_.shared().data(), network.shared.inputs(), 1, Activation::kNone, room_.bias_.data());

  room_.features_.resize(static_cast<size_t>(cells * kCellFeatures));
  for (size_t c = 0; c < room_.cells_.size(); ++c)
    walk_.features(room_.cells_[c].at.i, room_.cells_[c].at.j, &room_.features_[c * kCellFeatures]);
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
    if (room_.chances_seen_ != nullptr && room_.cells_[c].bound != ChosenCell::kNoBound) {
      float& most = (*room_.chances_seen_)[room_.cells_[c].bound];
      most = std::max(most, chance);
    }
    if (numbers_.uniform() * static_cast<double>(room_.cells_[c].part) < static_cast<double>(chance))
      room_.hit_.push_back(c);
  }
  if (!room_.hit_.empty()) draw_energies(pass);
}

// Of the cells that are hit.
void LayerDrawing::draw_energies(int pass) {
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
    const CellPlace& cell = room_.cells_[room_.hit_[h]].at;
    walk_.put(cell.i, cell.j, energy);
    hits_->push_back({cell.i, cell.j, static_cast<int8_t>(pass), energy});
  }
}

// What the cells have in all is not quite the layer's energy.
void LayerDrawing::scale_to_energy() {
  const PlaneShape& shape = parts_.detector.cells;
  const float energy_gev = walk_.state().energy_gev;
  float whole = 0, last = 0;
  for (const DrawnHit& hit : *hits_) {
    whole += hit.energy_gev;
    if (hit.pass == kPasses - 1) last += hit.energy_gev;
  }
  if (!(whole > 0)) {  // no cell was hit: the one at the axis takes it all
    const auto i = std::clamp(static_cast<int64_t>(walk_.axis().x), int64_t{0}, shape.x - 1);
    const auto j = std::clamp(static_cast<int64_t>(walk_.axis().y), int64_t{0}, shape.y - 1);
    hits_->push_back({static_cast<int16_t>(i), static_cast<int16_t>(j), kPasses - 1, energy_gev});
    walk_.replace(i, j, energy_gev);
    return;
  }
  const float last_factor = last > 0 ? (energy_gev - (whole - last)) / last : 0;
  const bool by_last = last_factor > kLastFactorMin && last_factor < kLastFactorMax;
  const float factor = by_last ? last_factor : std::clamp(energy_gev / whole, kFactorMin, kFactorMax);
  for (DrawnHit& hit : *hits_) {
    if (by_last && hit.pass != kPasses - 1) continue;
    hit.energy_gev *= factor;
    walk_.replace(hit.i, hit.j, hit.energy_gev);
  }
}

}  // namespace linac::chain
