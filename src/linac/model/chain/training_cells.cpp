#include "linac/model/chain/training_cells.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::chain {
namespace {

// Of empty cells so many are taken. Those of the core are few; the halo's count where energy lies near.
constexpr float kOfRing = 0.4F, kOfNear = 0.25F, kOfFar = 0.01F;

}  // namespace

int32_t class_of(std::span<const float> edges, float energy_gev) {
  const auto above = std::upper_bound(edges.begin(), edges.end(), std::log2(energy_gev));
  const auto last = static_cast<int32_t>(edges.size()) - 2;
  return std::clamp(static_cast<int32_t>(above - edges.begin()) - 1, 0, last);
}

TrainingCells::TrainingCells(const Surroundings& around, const LayerScale& scale, std::span<const float> edges)
    : around_(around),
      scale_(scale),
      edges_(edges),
      layers_(static_cast<int64_t>(around.detector.sensor_depth.size())),
      walk_(around),
      hits_(around.detector.sensor_depth.size()),
      truth_(static_cast<size_t>(around.detector.cells.size())),
      chances_(static_cast<size_t>(around.detector.cells.x * around.detector.cells.y)) {}

void TrainingCells::look(const MonteCarloShower& shower, bool mirror) {
  const PlaneShape& cells = around_.detector.cells;
  LINAC_CHECK(static_cast<int64_t>(shower.image.size()) == cells.x * cells.y * layers_);
  const bool turned = std::cos(shower.theta) < 0;
  cotangent_ = std::abs(std::cos(shower.theta)) / std::sin(shower.theta);
  entry_ = {mirror ? static_cast<float>(cells.x) - shower.entry.x : shower.entry.x,
            turned ? static_cast<float>(cells.y) - shower.entry.y : shower.entry.y};
  for (std::vector<DrawnHit>& hits : hits_) hits.clear();
  const float* cell = shower.image.data();
  for (int64_t x = 0; x < cells.x; ++x) {
    for (int64_t y = 0; y < cells.y; ++y) {
      const auto i = static_cast<int16_t>(mirror ? cells.x - 1 - x : x),
                 j = static_cast<int16_t>(turned ? cells.y - 1 - y : y);
      for (int64_t z = 0; z < layers_; ++z, ++cell)
        if (*cell > 0) hits_[static_cast<size_t>(z)].push_back({i, j, 0, *cell});
    }
  }
}

void TrainingCells::add(const MonteCarloShower& shower, const RngKey& key, bool mirror, TrainingRows& rows) {
  look(shower, mirror);
  walk_.begin_shower(around_, shower.energy_gev, cotangent_, entry_);
  for (size_t z = 0; z < hits_.size(); ++z) {
    RngKey of_layer = key;
    of_layer.lane += static_cast<uint32_t>(z);
    fill_uniform(of_layer, chances_);
    add_layer(z, rows);
  }
}

void TrainingCells::add_cell(int64_t i, int64_t j, float weight, int32_t outcome, TrainingRows& rows) const {
  const size_t begin = rows.features.size();
  rows.features.resize(begin + static_cast<size_t>(features()));
  walk_.features(i, j, &rows.features[begin]);
  std::ranges::copy(walk_.shared(), rows.features.begin() + static_cast<int64_t>(begin) + kCellFeatures);
  rows.classes.push_back(outcome);
  rows.weights.push_back(weight);
}

void TrainingCells::add_layer(size_t z, TrainingRows& rows) {
  const PlaneShape& cells = around_.detector.cells;
  std::vector<DrawnHit>& hits = hits_[z];
  float energy_gev = 0;
  for (const DrawnHit& hit : hits) energy_gev += hit.energy_gev;

  const LayerHistory history = walk_.history();
  const auto inputs = static_cast<size_t>(layer_inputs(layers_));
  rows.layer_inputs.resize(rows.layer_inputs.size() + inputs);
  scale_.inputs(history, std::span(rows.layer_inputs).last(inputs));
  rows.layer_from.push_back(scale_.from(history));
  rows.layer_empty.push_back(energy_gev > 0 ? 0.0F : 1.0F);
  rows.layer_widths.push_back(energy_gev > 0 ? scale_.widths_of(energy_gev, history.primary_gev, z) : 0.0F);

  walk_.begin_layer(energy_gev);
  if (energy_gev > 0) {
    std::fill(truth_.begin(), truth_.end(), 0.0F);
    for (DrawnHit& hit : hits) {
      const auto at = static_cast<size_t>(cells.at(hit.i, hit.j));
      truth_[at] = hit.energy_gev;
      hit.pass = static_cast<int8_t>(walk_.pass_at(at));
    }
    const float nearest = around_.halo_cells * around_.halo_cells;
    for (int pass = 0; pass < kPasses; ++pass) {
      walk_.begin_pass(pass);
      for (int64_t i = 0; i < cells.x; ++i) {
        for (int64_t j = 0; j < cells.y; ++j) {
          const auto at = static_cast<size_t>(cells.at(i, j));
          if (walk_.pass_at(at) != pass) continue;
          if (truth_[at] > 0) {
            add_cell(i, j, 1, class_of(edges_, truth_[at]), rows);
            continue;
          }
          float part = 1;
          if (pass < kHaloPasses)
            part = walk_.lively(at) || distance_squared(i, j, walk_.axis()) < nearest ? kOfNear : kOfFar;
          else if (pass < kHaloPasses + kRingPasses)
            part = kOfRing;
          if (chances_[static_cast<size_t>(i * cells.y + j)] < part) add_cell(i, j, 1 / part, kNoHit, rows);
        }
      }
      for (const DrawnHit& hit : hits)
        if (hit.pass == pass) walk_.put(hit.i, hit.j, hit.energy_gev);
    }
  }
  walk_.end_layer(hits);
}

}  // namespace linac::chain
