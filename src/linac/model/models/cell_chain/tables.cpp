#include "linac/model/models/cell_chain/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/physics/physics/sampling_stack.h"

namespace linac::models::cell_chain {
namespace {

// Of all showers so many give the tables, and so many of those the features' means and widths.
constexpr int64_t kShowers = 2048, kFeatureShowers = 128;
constexpr float kFeatureWidthMin = 0.02F, kLayerWidthMin = 1e-3F;
constexpr double kUnitQuantile = 0.05;  // of the hits' energies
// The mean shower by the distance from the axis: rings (cells) that are wide where hits are rare, and steps up to 20.
constexpr std::array kRings{0.0, 0.3, 0.6, 0.9, 1.2, 1.6, 2.0, 2.5, 3.0, 3.6, 4.3,
                            5.0, 6.0, 7.0, 8.0, 10., 12., 14., 17., 20., 25., 32.};
constexpr int64_t kRadialSteps = 81;
constexpr double kLeastDensity = 1e-9;  // of a layer's energy, in a cell

// Energies of hits by their logarithm, finely.
class Spectrum {
 public:
  void add(float energy_gev) {
    const double log2 = std::log2(static_cast<double>(energy_gev));
    low_ = std::min(low_, log2);
    high_ = std::max(high_, log2);
    const double bin = std::clamp((log2 - kFirst) * kBinsAnOctave, 0.0, static_cast<double>(kBins - 1));
    Bin& at = bins_[static_cast<size_t>(bin)];
    ++at.hits;
    at.energy += energy_gev;
    ++hits_;
    energy_ += energy_gev;
  }
  int64_t hits() const { return hits_; }

  double quantile_gev(double part) const {
    const double wanted = part * static_cast<double>(hits_);
    double below = 0;
    for (size_t i = 0; i < kBins; ++i) {
      const auto here = static_cast<double>(bins_[i].hits);
      if (below + here >= wanted && here > 0) return std::exp2(begin_of(i) + (wanted - below) / here / kBinsAnOctave);
      below += here;
    }
    return std::exp2(high_);
  }

  /// Equal steps of a sum of three shares: of the logarithm's range, of the hits, of their energy. So there are narrow
  /// classes where hits are many and where energy is, and no class is wide.
  std::vector<float> edges(int64_t classes) const {
    constexpr double kOfRange = 0.25, kOfHits = 0.375, kOfEnergy = 0.375;
    const double low = begin(), high = end();
    std::vector<float> edges{static_cast<float>(low)};
    double sum = 0;
    for (size_t i = 0; i < kBins; ++i) {
      const double from = std::max(begin_of(i), low), to = std::min(begin_of(i + 1), high);
      if (from >= to) continue;
      const double step = kOfRange * (to - from) / (high - low) +
                          kOfHits * static_cast<double>(bins_[i].hits) / static_cast<double>(hits_) +
                          kOfEnergy * bins_[i].energy / energy_;
      while (static_cast<int64_t>(edges.size()) < classes) {
        const double wanted = static_cast<double>(edges.size()) / static_cast<double>(classes);
        if (sum + step < wanted) break;
        edges.push_back(static_cast<float>(from + (to - from) * (wanted - sum) / step));
      }
      sum += step;
    }
    edges.push_back(static_cast<float>(high));
    return edges;
  }

  std::vector<float> widened(std::vector<float> edges) const {
    edges.front() = std::min(edges.front(), static_cast<float>(begin()));
    edges.back() = std::max(edges.back(), static_cast<float>(end()));
    return edges;
  }

 private:
  // A little more than the range, or the largest energy would lie on the edge.
  double begin() const { return low_ - 1.0 / kBinsAnOctave; }
  double end() const { return high_ + 1.0 / kBinsAnOctave; }

  struct Bin {
    int64_t hits = 0;
    double energy = 0;
  };
  static constexpr double kFirst = -60, kBinsAnOctave = 64;
  static constexpr size_t kBins = 5120;  // up to 2^20 GeV
  static double begin_of(size_t bin) { return kFirst + static_cast<double>(bin) / kBinsAnOctave; }

  std::vector<Bin> bins_ = std::vector<Bin>(kBins);
  int64_t hits_ = 0;
  double energy_ = 0;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

// The first look: energies of cells and layers, and where they lie.
class Counts {
 public:
  explicit Counts(const chain::Detector& detector)
      : detector_(detector), rings_(detector.sensor_depth.size(), std::vector<double>(kRings.size() - 1)) {}

  void add(const chain::MonteCarloShower& shower, const chain::TrainingCells& cells) {
    const chain::Axis& entry = cells.entry();
    const auto within = [](float place, int64_t cells) { return place >= 0 && place <= static_cast<float>(cells); };
    if (!within(shower.entry.x, detector_.cells.x) || !within(shower.entry.y, detector_.cells.y)) ++outside_;
    ++showers_;
    primaries_.push_back(shower.energy_gev);
    for (size_t z = 0; z < cells.hits().size(); ++z) {
      const float depth = detector_.sensor_depth[z];
      const chain::Axis axis{entry.x, entry.y + depth * cells.cotangent()};
      const chain::LayerSummary summary = chain::summary_of(cells.hits()[z], axis);
      layers_gev_.push_back(summary.energy_gev);
      depths_ += static_cast<double>(summary.energy_gev) * static_cast<double>(depth);
      energy_ += summary.energy_gev;
      for (const chain::DrawnHit& hit : cells.hits()[z]) {
        spectrum_.add(hit.energy_gev);
        const double radius = std::sqrt(static_cast<double>(chain::distance_squared(hit.i, hit.j, axis)));
        const auto ring = std::upper_bound(kRings.begin(), kRings.end(), radius) - kRings.begin() - 1;
        if (static_cast<size_t>(ring) < rings_[z].size()) rings_[z][static_cast<size_t>(ring)] += hit.energy_gev;
      }
    }
  }

  void need_showers() const {
    if (spectrum_.hits() == 0) throw data_error("[model] a cell_chain learns from showers, and all cells are empty");
    if (2 * outside_ <= showers_) return;
    throw data_error(
        fmt::format("[model] {} of {} primaries enter outside of their image; model.entry names the data sets with the "
                    "entry in mm and the shift in cells, model.geometry the size of a cell",
                    outside_, showers_));
  }

  chain::RadialTable mean_by_radius() const {
    chain::RadialTable table{.steps = kRadialSteps, .values = {}};
    for (const std::vector<double>& rings : rings_) {
      double whole = 0;
      for (const double energy : rings) whole += energy;
      std::array<double, kRings.size() - 1> middle{}, log_density{};
      for (size_t k = 0; k < rings.size(); ++k) {
        const double area = std::numbers::pi * (kRings[k + 1] * kRings[k + 1] - kRings[k] * kRings[k]);
        middle[k] = (kRings[k] + kRings[k + 1]) / 2;
        log_density[k] = std::log(std::max({rings[k] / area, kLeastDensity * whole, 1e-30}));
      }
      for (int64_t step = 0; step < kRadialSteps; ++step) {
        const double radius = static_cast<double>(step) / chain::RadialTable::kStepsPerCell;
        size_t k = 0;
        while (k + 2 < middle.size() && radius > middle[k + 1]) ++k;
        const double part = std::clamp((radius - middle[k]) / (middle[k + 1] - middle[k]), 0.0, 1.0);
        table.values.push_back(static_cast<float>(std::exp((1 - part) * log_density[k] + part * log_density[k + 1])));
      }
    }
    return table;
  }

  void set_scales(Tables& tables) const {
    const size_t layers = detector_.sensor_depth.size();
    tables.scale.units = tables.around.units;
    const float least = tables.around.units.cell_gev / 30;
    for (size_t z = 0; z < layers; ++z) {
      double filled = 0, sum = 0, squares = 0;
      for (size_t shower = 0; shower < primaries_.size(); ++shower) {
        const float energy = layers_gev_[shower * layers + z];
        if (!(energy > 0)) continue;
        const auto log = static_cast<double>(chain::fast_log((energy + least) / primaries_[shower]));
        filled += 1;
        sum += log;
        squares += log * log;
      }
      const double mean = filled > 0 ? sum / filled : 0, square = filled > 0 ? squares / filled - mean * mean : 1;
      tables.scale.mean.push_back(static_cast<float>(mean));
      tables.scale.width.push_back(std::max(static_cast<float>(std::sqrt(std::max(square, 0.0))), kLayerWidthMin));
      tables.empty.push_back(static_cast<float>(1 - filled / static_cast<double>(primaries_.size())));
    }
  }

  const Spectrum& spectrum() const { return spectrum_; }
  float middle_depth() const { return static_cast<float>(depths_ / energy_); }

 private:
  const chain::Detector& detector_;
  Spectrum spectrum_;
  std::vector<std::vector<double>> rings_;     // energy, [layer][ring]
  std::vector<float> primaries_, layers_gev_;  // [shower], [shower][layer]
  double depths_ = 0, energy_ = 0;
  int64_t showers_ = 0, outside_ = 0;
};

void set_feature_scales(const std::vector<double>& sums, const std::vector<double>& squares, double rows,
                        Tables& tables) {
  for (size_t k = 0; k < sums.size(); ++k) {
    const double mean = sums[k] / rows, square = std::max(squares[k] / rows - mean * mean, 0.0);
    tables.feature_mean.push_back(static_cast<float>(mean));
    tables.feature_width.push_back(std::max(static_cast<float>(std::sqrt(square)), kFeatureWidthMin));
  }
}

// What holds whatever the showers are.
chain::Surroundings surroundings(const job::CellChainSettings& settings, const chain::Detector& detector) {
  return {.detector = detector,
          .units = {1, 1},
          .rings = {static_cast<float>(settings.core_cells), static_cast<float>(settings.ring_cells)},
          .memory = static_cast<float>(settings.memory),
          .halo_cells = static_cast<float>(settings.halo_cells),
          .mean_by_radius = {}};
}

int64_t features_of(int64_t layers) {
  return chain::kCellFeatures + chain::shared_features(layers);
}

}  // namespace

chain::Detector detector_of(const physics::Geometry& geometry) {
  chain::Detector detector{.cells = {geometry.cells.x, geometry.cells.y}, .sensor_depth = {}, .middle_depth = 0};
  for (const physics::SampledLayer& layer : physics::sampled_layers(geometry))
    detector.sensor_depth.push_back(static_cast<float>(layer.sensor_depth_mm / geometry.cells.pitch_mm));
  return detector;
}

Kept kept_of(const chain::ChainParts& parts) {
  return {parts.units, parts.network.edges};
}

Tables derive_tables(const job::CellChainSettings& settings, const chain::Detector& detector,
                     const TableShowers& showers, const Kept* kept) {
  Tables tables{.around = surroundings(settings, detector),
                .scale = {},
                .empty = {},
                .edges = {},
                .feature_mean = {},
                .feature_width = {}};
  const int64_t looked_at = std::min(showers.showers, kShowers), of_features = std::min(looked_at, kFeatureShowers);
  std::vector<float> image;
  const auto shower = [&](int64_t i, int64_t of) { return showers.read(i * showers.showers / of, image); };
  Counts counts(tables.around.detector);
  {
    chain::TrainingCells cells(tables.around, tables.scale, tables.edges);
    for (int64_t i = 0; i < looked_at; ++i) {
      const chain::MonteCarloShower one = shower(i, looked_at);
      cells.look(one, false);
      counts.add(one, cells);
    }
  }
  counts.need_showers();
  if (kept != nullptr)
    tables.around.units = kept->units;
  else
    tables.around.units = {static_cast<float>(counts.spectrum().quantile_gev(kUnitQuantile)),
                           static_cast<float>(std::sqrt(showers.energies_gev.low * showers.energies_gev.high))};
  tables.around.detector.middle_depth = counts.middle_depth();
  tables.around.mean_by_radius = counts.mean_by_radius();
  tables.edges = kept != nullptr ? counts.spectrum().widened(kept->edges) : counts.spectrum().edges(settings.classes);
  counts.set_scales(tables);

  chain::TrainingCells cells(tables.around, tables.scale, tables.edges);
  const auto features = static_cast<size_t>(cells.features());
  std::vector<double> sums(features), squares(features);
  double rows = 0;
  for (int64_t i = 0; i < of_features; ++i) {
    chain::TrainingRows taken;
    const RngKey key{.seed = 0, .stream = Stream::kCells, .step = static_cast<uint32_t>(i)};
    cells.add(shower(i, of_features), key, false, taken);
    for (size_t at = 0; at < taken.features.size(); ++at) {
      const auto value = static_cast<double>(taken.features[at]);
      sums[at % features] += value;
      squares[at % features] += value * value;
    }
    rows += static_cast<double>(taken.cells());
  }
  set_feature_scales(sums, squares, rows, tables);
  return tables;
}

graph::Parameters no_tables(const job::CellChainSettings& settings, const chain::Detector& detector) {
  const auto layers = static_cast<int64_t>(detector.sensor_depth.size());
  graph::Parameters parameters;
  graph::Layout& layout = parameters.statistics_layout;
  layout.add("cells", {2});
  layout.add("units", {2});
  layout.add("middle_depth", {1});
  for (const char* name : {kDepthTable, "layer_mean", "layer_width", "layer_empty"}) layout.add(name, {layers});
  layout.add("mean_by_radius", {layers, kRadialSteps});
  layout.add("edges", {settings.classes + 1});
  for (const char* name : {"feature_mean", "feature_width"}) layout.add(name, {features_of(layers)});
  parameters.statistics.resize(static_cast<size_t>(layout.total));
  return parameters;
}

graph::Parameters to_parameters(const job::CellChainSettings& settings, const Tables& tables) {
  const chain::Detector& detector = tables.around.detector;
  graph::Parameters parameters = no_tables(settings, detector);
  const auto put = [&](const char* name, std::span<const float> values) {
    const std::span<float> to = parameters.values(name);
    LINAC_CHECK(to.size() == values.size());
    std::ranges::copy(values, to.begin());
  };
  put("cells", std::array{static_cast<float>(detector.cells.x), static_cast<float>(detector.cells.y)});
  put("units", std::array{tables.around.units.cell_gev, tables.around.units.primary_gev});
  put("middle_depth", std::array{detector.middle_depth});
  put(kDepthTable, detector.sensor_depth);
  put("layer_mean", tables.scale.mean);
  put("layer_width", tables.scale.width);
  put("layer_empty", tables.empty);
  put("mean_by_radius", tables.around.mean_by_radius.values);
  put("edges", tables.edges);
  put("feature_mean", tables.feature_mean);
  put("feature_width", tables.feature_width);
  return parameters;
}

Tables tables_of(const job::CellChainSettings& settings, const graph::Parameters& parameters) {
  const auto values = [&](const char* name) {
    const std::span<const float> found = parameters.values(name);
    return std::vector<float>(found.begin(), found.end());
  };
  const std::vector<float> cells = values("cells"), units = values("units");
  const chain::Detector detector{.cells = {static_cast<int64_t>(cells[0]), static_cast<int64_t>(cells[1])},
                                 .sensor_depth = values(kDepthTable),
                                 .middle_depth = values("middle_depth")[0]};
  Tables tables{.around = surroundings(settings, detector),
                .scale = {values("layer_mean"), values("layer_width"), {units[0], units[1]}},
                .empty = values("layer_empty"),
                .edges = values("edges"),
                .feature_mean = values("feature_mean"),
                .feature_width = values("feature_width")};
  tables.around.units = tables.scale.units;
  tables.around.mean_by_radius = {kRadialSteps, values("mean_by_radius")};
  return tables;
}

}  // namespace linac::models::cell_chain
