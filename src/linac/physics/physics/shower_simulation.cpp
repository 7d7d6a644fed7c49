#include "linac/physics/physics/shower_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/physics/physics/energy_spots.h"
#include "linac/physics/physics/number_sequence.h"

namespace linac::physics {
namespace {

constexpr uint32_t kShapeLane = 0, kSpotLane = 1;

// Of a single shower: where a profile would turn into one without a maximum.
constexpr double kAlphaMin = 1.1, kMaximumMin_x0 = 0.5;

// Nodes and weights of Gauss and Legendre on [0, 1].
constexpr std::array<double, 3> kNodes{0.1127016653792583, 0.5, 0.8872983346207417};
constexpr std::array<double, 3> kWeights{5.0 / 18, 8.0 / 18, 5.0 / 18};

// (1/E) dE/dt.
struct GammaProfile {
  GammaProfile(double alpha, double maximum)
      : power(alpha - 1), beta(power / maximum), ln_norm(alpha * std::log(beta) - std::lgamma(alpha)) {}
  double operator()(double depth_x0, double ln_depth) const {
    return std::exp(ln_norm + power * ln_depth - beta * depth_x0);
  }

  double power, beta, ln_norm;
};

}  // namespace

RngKey shower_key(uint64_t seed, uint64_t event) {
  return {.seed = seed,
          .stream = Stream::kShower,
          .epoch = static_cast<uint32_t>(event >> 32),
          .step = static_cast<uint32_t>(event)};
}

void check_primary(double energy_gev, double theta, const std::string& where) {
  if (!(energy_gev >= kShowerEnergyMin_gev && energy_gev <= kShowerEnergyMax_gev)) {
    throw user_error(fmt::format("[{}] energy {:g} GeV is outside the model ({} to {:g} GeV)", where, energy_gev,
                                 kShowerEnergyMin_gev, kShowerEnergyMax_gev));
  }
  if (!(theta > 0 && theta < M_PI && std::sin(theta) >= kShowerSineMin)) {
    throw user_error(
        fmt::format("[{}] theta {:g} rad is outside the model (sin theta at least {})", where, theta, kShowerSineMin));
  }
}

struct ShowerSimulation::Shower {
  double energy_gev;
  double sine, cotangent;   // of theta: paths are 1 / sine longer than depths, the axis moves along y by the cotangent
  double entry_x, entry_y;  // in cells, from the corner of the cell that the electron enters
  double alpha, maximum_x0;
  double tau_per_x0;      // depth in the units of the radial laws
  double visible_factor;  // on the visible energy of all layers
};

ShowerSimulation::ShowerSimulation(const Geometry& geometry, const Tuning& tuning)
    : geometry_(geometry), tuning_(tuning), spot_energies_(tuning.spot_spread) {
  validate(geometry, geometry.name);
  medium_ = effective_medium(geometry);
  for (const SampledLayer& sampled : sampled_layers(geometry)) {
    // The sensor samples the profile around it: over one layer's depth, so that equal layers leave no gap.
    Layer layer{.sampled = sampled, .depth_x0 = {}, .ln_depth = {}};
    const double begin = std::max(0.0, sampled.sensor_depth_x0 - sampled.thickness_x0 / 2);
    const double length = sampled.sensor_depth_x0 + sampled.thickness_x0 / 2 - begin;
    for (size_t i = 0; i < kNodes.size(); ++i) {
      layer.depth_x0[i] = begin + length * kNodes[i];
      layer.ln_depth[i] = std::log(layer.depth_x0[i]);
    }
    layers_.push_back(layer);
    const double reach_mm =
        (sampled.sensor_depth_mm + tuning.radius_limit_moliere * sampled.moliere_mm) / kShowerSineMin;
    if (reach_mm / geometry.cells.pitch_mm > kSpotReachMax_cells / 2) {
      throw user_error(fmt::format("[geometry] {}: cells.pitch_mm = {} is too small for showers {:.0f} mm wide",
                                   geometry.name, geometry.cells.pitch_mm, reach_mm));
    }
  }
}

ShowerSimulation::Shower ShowerSimulation::draw_shower(double energy_gev, double theta, NumberSequence& numbers) const {
  const LongitudinalLaw law = longitudinal_law(energy_gev, medium_, tuning_);
  Shower shower{};
  shower.energy_gev = energy_gev;
  shower.sine = std::sin(theta);
  shower.cotangent = std::cos(theta) / shower.sine;
  shower.entry_x = numbers.uniform();
  shower.entry_y = numbers.uniform();
  const double together = std::sqrt((1 + law.correlation) / 2) * numbers.normal(),
               apart = std::sqrt((1 - law.correlation) / 2) * numbers.normal();
  shower.maximum_x0 = std::max(kMaximumMin_x0, std::exp(law.ln_maximum + law.ln_maximum_sigma * (together + apart)));
  shower.alpha = std::max(kAlphaMin, std::exp(law.ln_alpha + law.ln_alpha_sigma * (together - apart)));
  shower.visible_factor = tuning_.visible_scale * std::max(0.0, 1 + tuning_.constant_resolution * numbers.normal());
  // The radial laws count depth by this shower's centre of gravity, as if it had the mean alpha.
  const double mean_alpha = std::exp(law.ln_alpha);
  shower.tau_per_x0 = (shower.alpha - 1) / shower.alpha * mean_alpha / (mean_alpha - 1) / shower.maximum_x0;
  return shower;
}

// Deposited energy -> sampling fluctuation -> visible energy, in spots.
void ShowerSimulation::share_energy(const Shower& shower, NumberSequence& numbers, Workspace& workspace) const {
  const GammaProfile profile(shower.alpha, shower.maximum_x0);
  // Spots thin out a little earlier than energy (hep-ex/0001020, appendix).
  const GammaProfile spot_profile(std::max(kAlphaMin, shower.alpha * (0.844 + 0.0026 * medium_.z)),
                                  shower.maximum_x0 * (0.813 + 0.0019 * medium_.z));
  const double spots = spot_count(shower.energy_gev, tuning_), ln_sine = std::log(shower.sine);
  workspace.layers.clear();
  size_t first = 0;
  for (const Layer& layer : layers_) {
    const double thickness = layer.sampled.thickness_x0 / shower.sine;
    double energy_share = 0, spot_share = 0;
    for (size_t i = 0; i < kNodes.size(); ++i) {
      const double depth = layer.depth_x0[i] / shower.sine, ln_depth = layer.ln_depth[i] - ln_sine;
      energy_share += kWeights[i] * thickness * profile(depth, ln_depth);
      spot_share += kWeights[i] * thickness * spot_profile(depth, ln_depth);
    }
    // Deposited energy in units of quantum is Gamma distributed: variance quantum times mean.
    const double quantum = tuning_.sampling_resolution * tuning_.sampling_resolution * thickness;
    const double mean = shower.energy_gev * energy_share / quantum;
    const double fluctuated = mean > 0 ? quantum * numbers.gamma(mean) : 0;
    const double visible = fluctuated * layer.sampled.sampling_fraction() * shower.visible_factor;
    const auto count = std::max<size_t>(1, static_cast<size_t>(spots * spot_share + numbers.uniform()));
    workspace.layers.push_back({visible, first, count, 0});
    first += count;
  }
  workspace.bits.resize(2 * first);
  workspace.cell_x.resize(first);
  workspace.cell_y.resize(first);
}

void ShowerSimulation::place_spots_of(const Shower& shower, Workspace& workspace) const {
  const RadialProfile profile(shower.energy_gev, medium_, tuning_);
  const double pitch_mm = geometry_.cells.pitch_mm;
  for (size_t k = 0; k < layers_.size(); ++k) {
    const SampledLayer& sampled = layers_[k].sampled;
    const RadialLaw law = profile.at(sampled.sensor_depth_x0 / shower.sine * shower.tau_per_x0);
    const double moliere_cells = sampled.moliere_mm / pitch_mm;
    auto& [visible_gev, first, count, unit_gev] = workspace.layers[k];
    place_spots(std::span(workspace.bits).subspan(2 * first, 2 * count),
                {.core = law.core * moliere_cells,
                 .tail = law.tail * moliere_cells,
                 .core_weight = law.core_weight,
                 .limit = tuning_.radius_limit_moliere * moliere_cells,
                 .x = shower.entry_x,
                 .y = shower.entry_y + sampled.sensor_depth_mm / pitch_mm * shower.cotangent,
                 .y_stretch = 1 / shower.sine},
                std::span(workspace.cell_x).subspan(first, count), std::span(workspace.cell_y).subspan(first, count));
    double relative = 0;
    for (size_t i = first; i < first + count; ++i) relative += spot_energies_.of(workspace.bits[2 * i + 1]);
    unit_gev = visible_gev / relative;
  }
}

// The cell that holds the barycentre of all spots, whichever the window is.
ShowerSimulation::Cell ShowerSimulation::barycentre(const Workspace& workspace) const {
  double energy = 0, moment_x = 0, moment_y = 0;
  for (const auto& [visible_gev, first, count, unit_gev] : workspace.layers) {
    double sum_x = 0, sum_y = 0;
    for (size_t i = first; i < first + count; ++i) {
      const float relative = spot_energies_.of(workspace.bits[2 * i + 1]);
      sum_x += relative * static_cast<float>(workspace.cell_x[i]);
      sum_y += relative * static_cast<float>(workspace.cell_y[i]);
    }
    energy += visible_gev;
    moment_x += unit_gev * sum_x;
    moment_y += unit_gev * sum_y;
  }
  if (!(energy > 0)) return {0, 0};
  return {std::llround(moment_x / energy), std::llround(moment_y / energy)};
}

void ShowerSimulation::fill_image(const Workspace& workspace, const Cell& middle, std::span<float> image) const {
  const int64_t nx = geometry_.cells.x, ny = geometry_.cells.y;
  const auto nz = static_cast<int64_t>(layers_.size());
  std::fill(image.begin(), image.end(), 0.0F);
  for (int64_t z = 0; z < nz; ++z) {
    const auto& [visible_gev, first, count, unit_gev] = workspace.layers[static_cast<size_t>(z)];
    const auto unit = static_cast<float>(unit_gev);
    for (size_t i = first; i < first + count; ++i) {
      const int64_t x = workspace.cell_x[i] - middle.x + nx / 2, y = workspace.cell_y[i] - middle.y + ny / 2;
      if (x < 0 || x >= nx || y < 0 || y >= ny) continue;
      image[static_cast<size_t>((x * ny + y) * nz + z)] += unit * spot_energies_.of(workspace.bits[2 * i + 1]);
    }
  }
  for (float& cell : image) cell = cell < static_cast<float>(kCellThreshold_gev) ? 0.0F : cell;
}

Entry ShowerSimulation::simulate(double energy_gev, double theta, const RngKey& key, std::span<float> image,
                                 Workspace& workspace) const {
  LINAC_CHECK(static_cast<int64_t>(image.size()) == geometry_.image_cells());
  check_primary(energy_gev, theta, "simulate");
  RngKey shape_key = key, spot_key = key;
  shape_key.lane = kShapeLane;
  spot_key.lane = kSpotLane;
  NumberSequence numbers(shape_key);
  const Shower shower = draw_shower(energy_gev, theta, numbers);
  share_energy(shower, numbers, workspace);
  fill_bits(spot_key, 0, workspace.bits);
  place_spots_of(shower, workspace);
  const Cell middle = barycentre(workspace);
  fill_image(workspace, middle, image);
  const double pitch_mm = geometry_.cells.pitch_mm;
  return {(shower.entry_x - 0.5) * pitch_mm, (shower.entry_y - 0.5) * pitch_mm, middle.x, middle.y};
}

}  // namespace linac::physics
