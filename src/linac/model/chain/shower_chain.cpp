#include "linac/model/chain/shower_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/model/chain/layer_drawing.h"
#include "linac/physics/physics/number_sequence.h"

namespace linac::chain {
namespace {

constexpr uint32_t kLane = 3;            // of Stream::kSample
constexpr float kThreshold_gev = 1e-6F;  // cells below are 0, as in the showers of the training
constexpr double kEnergyMax_gev = 1e5;
constexpr int64_t kCellsMax = 4096, kLayersMax = 1024;  // along an axis
constexpr int64_t kLayerCellsMax = 1 << 22;
constexpr float kDepthMax = 10000;  // in cells
constexpr float kRingMax = 1000;    // cells
constexpr double kSineMin = 0.2;    // of theta

void need(bool fits, const std::string& where, const char* what) {
  if (!fits) throw data_error(fmt::format("[model] {}: {}; was it written for another version?", where, what));
}

}  // namespace

RngKey chain_key(uint64_t seed, uint64_t event) {
  return {.seed = seed,
          .stream = Stream::kSample,
          .lane = kLane,
          .epoch = static_cast<uint32_t>(event >> 32),
          .step = static_cast<uint32_t>(event)};
}

ShowerChain::ShowerChain(ChainParts parts, const std::string& where) : parts_(std::move(parts)) {
  const auto layers = static_cast<int64_t>(parts_.detector.sensor_depth.size());
  const CellNetwork& network = parts_.network;
  const auto within = [](float value, float low, float high) { return value >= low && value <= high; };  // not for NaN
  need(parts_.detector.cells.x > 0 && parts_.detector.cells.y > 0 && layers > 0, where, "a detector without cells");
  need(parts_.detector.cells.x <= kCellsMax && parts_.detector.cells.y <= kCellsMax && layers <= kLayersMax &&
           parts_.detector.cells.x * parts_.detector.cells.y <= kLayerCellsMax,
       where, "a detector of too many cells");
  need(std::ranges::all_of(parts_.detector.sensor_depth, [&](float depth) { return within(depth, 0, kDepthMax); }) &&
           within(parts_.detector.middle_depth, 0, kDepthMax),
       where, "sensors that lie nowhere");
  need(std::is_sorted(parts_.detector.sensor_depth.begin(), parts_.detector.sensor_depth.end()), where,
       "sensors that do not lie one behind the other");
  need(parts_.layer_energy.layers() == layers && parts_.mean_by_radius.steps > 1 &&
           static_cast<int64_t>(parts_.mean_by_radius.values.size()) == layers * parts_.mean_by_radius.steps,
       where, "tables of another number of layers");
  need(network.cell.inputs() == kCellFeatures && network.shared.inputs() == shared_features(layers) &&
           network.shared.outputs() == network.cell.outputs() && network.hidden.inputs() == network.cell.outputs() &&
           network.hit.inputs() == network.hidden.outputs() && network.hit.outputs() == 1 &&
           network.energy_hidden.inputs() == network.hidden.outputs() &&
           network.energy.inputs() == network.energy_hidden.outputs() &&
           static_cast<int64_t>(network.edges.size()) == network.energy.outputs() + 1,
       where, "layers of a network that do not fit together");
  need(0 < parts_.rings.core && parts_.rings.core <= parts_.rings.ring && parts_.rings.ring <= kRingMax, where,
       "core and ring that do not follow each other");
  need(parts_.units.cell_gev > 0 && parts_.units.primary_gev > 0, where, "units that are not above 0");
}

EventShape ShowerChain::shape() const {
  return {parts_.detector.cells.x, parts_.detector.cells.y, static_cast<int64_t>(parts_.detector.sensor_depth.size())};
}

ShowerChain::Workspace::Workspace(const ShowerChain& chain)
    : walk_(chain.parts_), hits_of_(chain.parts_.detector.sensor_depth.size()) {}

// The middle cell's coordinates in (x, y), y running backwards if `mirrored`; the image's own where there is nothing.
ShowerChain::Place ShowerChain::barycentre(const Workspace& workspace, bool mirrored) const {
  const PlaneShape& cells = parts_.detector.cells;
  double energy = 0, x = 0, y = 0;
  for (const auto& layer : workspace.hits_of_) {
    for (const DrawnHit& hit : layer) {
      const double cell = hit.energy_gev;
      energy += cell;
      x += cell * (static_cast<double>(hit.i) + 0.5);
      y += cell * (static_cast<double>(mirrored ? cells.y - 1 - hit.j : hit.j) + 0.5);
    }
  }
  if (!(energy > 0) || !std::isfinite(energy)) return {cells.x / 2, cells.y / 2};
  return {static_cast<int64_t>(x / energy), static_cast<int64_t>(y / energy)};
}

Axis ShowerChain::draw(double energy_gev, double theta, const RngKey& key, std::vector<CellEnergy>& shower,
                       Workspace& workspace) const {
  const PlaneShape& cells = parts_.detector.cells;
  const double sine = std::sin(theta);
  if (!(energy_gev > 0 && energy_gev <= kEnergyMax_gev) || !(sine >= kSineMin)) {
    throw user_error(
        fmt::format("[generate] a primary of {:g} GeV at theta {:g} is outside the model (up to {:g} GeV, sin "
                    "theta at least {})",
                    energy_gev, theta, kEnergyMax_gev, kSineMin));
  }
  // The networks know one side; the other is its mirror image.
  const bool mirrored = std::cos(theta) < 0;
  const auto cotangent = static_cast<float>(std::abs(std::cos(theta)) / sine);
  physics::NumberSequence numbers(key);
  const Axis entry{static_cast<float>(cells.x / 2) + static_cast<float>(numbers.uniform()),
                   static_cast<float>(cells.y / 2) - std::floor(parts_.detector.middle_depth * cotangent) +
                       static_cast<float>(numbers.uniform())};
  LayerDrawing drawing(parts_, workspace, static_cast<float>(energy_gev), cotangent, entry, numbers);
  for (size_t layer = 0; layer < workspace.hits_of_.size(); ++layer) drawing.draw(layer);

  const Place middle = barycentre(workspace, mirrored);
  shower.clear();
  for (size_t z = 0; z < workspace.hits_of_.size(); ++z) {
    for (const DrawnHit& hit : workspace.hits_of_[z]) {
      const int64_t x = hit.i + cells.x / 2 - middle.x;
      const int64_t y = (mirrored ? cells.y - 1 - hit.j : hit.j) + cells.y / 2 - middle.y;
      if (x < 0 || x >= cells.x || y < 0 || y >= cells.y || hit.energy_gev < kThreshold_gev) continue;
      shower.push_back({static_cast<int32_t>(x), static_cast<int32_t>(y), static_cast<int32_t>(z), hit.energy_gev});
    }
  }
  return {entry.x + static_cast<float>(cells.x / 2 - middle.x),
          (mirrored ? static_cast<float>(cells.y) - entry.y : entry.y) + static_cast<float>(cells.y / 2 - middle.y)};
}

Axis ShowerChain::make(double energy_gev, double theta, const RngKey& key, std::span<float> image,
                       Workspace& workspace) const {
  const EventShape cells = shape();
  LINAC_CHECK(static_cast<int64_t>(image.size()) == cells.cells());
  const Axis entry = draw(energy_gev, theta, key, workspace.shower_, workspace);
  std::fill(image.begin(), image.end(), 0.0F);
  for (const CellEnergy& cell : workspace.shower_)
    image[static_cast<size_t>((cell.x * cells.y + cell.y) * cells.z + cell.layer)] = cell.energy_gev;
  return entry;
}

HaloBounds measured_bounds(const ChainParts& parts, uint64_t seed) {
  constexpr uint64_t kShowers = 16;
  constexpr size_t kHitsMax = 100000;  // networks that know nothing yet hit everything
  constexpr float kMore = 1.5F, kLeast = 1.0F / 512;
  ChainParts all = parts;
  all.halo = HaloBounds();
  const ShowerChain chain(std::move(all), "a cell_chain");
  ShowerChain::Workspace room(chain);
  std::vector<float> most(HaloBounds::kSize);
  room.chances_seen_ = &most;
  std::vector<CellEnergy> shower;
  size_t hits = 0;
  for (uint64_t event = 0; event < kShowers && hits < kHitsMax; ++event) {
    // Up to twice the primaries' unit, at 60 to 90 degrees.
    const double part = (static_cast<double>(event) + 0.5) / kShowers, turned = std::fmod(5 * part, 1.0);
    const double energy_gev = std::min(2 * part * static_cast<double>(parts.units.primary_gev), kEnergyMax_gev);
    chain.draw(energy_gev, std::numbers::pi / 2 * (1 - turned / 3), chain_key(seed, event), shower, room);
    hits += shower.size();
  }
  for (int kind = 0; kind < HaloBounds::kKinds; ++kind) {
    for (int bin = 0; bin < HaloBounds::kBins; ++bin) {
      const size_t here = HaloBounds::at(kind, bin);
      float& bound = most[here];
      // Where nothing was seen all are looked at; with almost nothing expected that is as with a little more.
      bound = bound > 0 ? std::clamp(bound * kMore, kLeast, 1.0F) : (bin > 0 ? 1.0F : kLeast);
      if (bin > 0) bound = std::max(bound, most[here - 1]);
      if (kind > 1) bound = std::max(bound, most[here - HaloBounds::kBins]);
    }
  }
  return HaloBounds(most);
}

}  // namespace linac::chain
