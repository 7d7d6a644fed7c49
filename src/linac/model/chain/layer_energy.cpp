#include "linac/model/chain/layer_energy.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "linac/base/base/error.h"

namespace linac::chain {
namespace {

constexpr float kFarthest = 12;               // widths, of the energy in front that the means count from
constexpr float kLowest = -20, kHighest = 6;  // widths, of what is drawn
constexpr double kNormalMax = 3.5;            // of a component: its tails are other components' affair
constexpr float kSharesScale = 40;

float inverse_sinh(float x) {
  return std::copysign(fast_log(std::abs(x) + std::sqrt(x * x + 1)), x);
}

}  // namespace

LayerEnergy::LayerEnergy(Dense in, Dense hidden, Dense out, LayerScale scale, std::vector<float> empty)
    : in_(std::move(in)),
      hidden_(std::move(hidden)),
      out_(std::move(out)),
      scale_(std::move(scale)),
      empty_(std::move(empty)) {
  if (in_.inputs() != layer_inputs(layers()) || hidden_.inputs() != in_.outputs() ||
      out_.inputs() != hidden_.outputs() || out_.outputs() % 3 != 1 || out_.outputs() < 4 ||
      scale_.width.size() != scale_.mean.size() || empty_.size() != scale_.mean.size())
    throw data_error("the networks of the layers' energies do not fit together, or not to the number of layers");
}

float LayerScale::widths_of(float energy_gev, float primary_gev, size_t layer) const {
  return (fast_log((energy_gev + units.cell_gev / 30) / primary_gev) - mean[layer]) / width[layer];
}

float LayerScale::from(const LayerHistory& history) const {
  const size_t z = history.layers.size();
  if (z == 0) return 0;
  return std::clamp(widths_of(history.layers.back().energy_gev, history.primary_gev, z - 1), -kFarthest, kFarthest);
}

void LayerScale::inputs(const LayerHistory& history, std::span<float> out) const {
  const auto layers = mean.size(), z = history.layers.size();
  LINAC_CHECK(z < layers && out.size() == static_cast<size_t>(layer_inputs(static_cast<int64_t>(layers))));
  std::fill(out.begin(), out.end(), 0.0F);
  out[z] = 1;
  float energy = 0, hits = 0;
  for (size_t front = 0; front < z; ++front) {
    const LayerSummary& layer = history.layers[front];
    out[layers + z - 1 - front] = inverse_sinh(widths_of(layer.energy_gev, history.primary_gev, front));
    energy += layer.energy_gev;
    hits += layer.hits;
  }
  const std::span<float> numbers = out.subspan(2 * layers);
  const float primary = fast_log(history.primary_gev / units.primary_gev);
  numbers[0] = primary;
  numbers[1] = primary * primary;
  numbers[2] = 2 * history.cotangent;
  numbers[11] = 4 * history.cotangent * history.cotangent;
  if (z == 0) return;
  const LayerSummary& last = history.layers.back();
  numbers[3] = kSharesScale * energy / history.primary_gev;
  numbers[4] = 0.5F * fast_log(1 + last.hits);
  numbers[5] = std::clamp(last.x, -3.0F, 3.0F);
  numbers[6] = std::clamp(last.y, -3.0F, 3.0F);
  numbers[7] = 0.5F * std::min(last.width, 6.0F);
  numbers[8] = 0.5F * fast_log(1 + hits);
  if (z == 1) return;
  const LayerSummary& before = history.layers[z - 2];
  numbers[9] = 0.5F * fast_log(1 + before.hits);
  numbers[10] = 0.5F * std::min(before.width, 6.0F);
}

float LayerEnergy::draw(const LayerHistory& history, std::span<const double> uniform) const {
  LINAC_CHECK(uniform.size() == 4);
  std::vector<float> input(static_cast<size_t>(layer_inputs(layers())));
  scale_.inputs(history, input);
  std::vector<float> first(static_cast<size_t>(in_.stride())), second(static_cast<size_t>(hidden_.stride())),
      result(static_cast<size_t>(out_.stride()));
  in_.apply(input.data(), in_.inputs(), 1, Activation::kRelu, first.data());
  hidden_.apply(first.data(), in_.stride(), 1, Activation::kRelu, second.data());
  out_.apply(second.data(), hidden_.stride(), 1, Activation::kNone, result.data());

  const size_t z = history.layers.size();
  if (empty_[z] > 0 && uniform[0] * (1 + static_cast<double>(fast_exp(-result[0]))) < 1) return 0;  // below the sigmoid
  const auto components = static_cast<size_t>((out_.outputs() - 1) / 3);
  float* weights = result.data() + 1;
  const float whole = exponentials(weights, components);
  size_t chosen = 0;
  for (auto rest = static_cast<float>(uniform[1]) * whole; chosen + 1 < components && rest >= weights[chosen]; ++chosen)
    rest -= weights[chosen];
  const float mean = scale_.from(history) + kMeanScale * result[1 + components + chosen];
  const float width = fast_exp(std::clamp(result[1 + 2 * components + chosen], kWidthLnMin, kWidthLnMax));
  const double normal = std::sqrt(-2 * std::log(uniform[2])) * std::cos(2 * std::numbers::pi * uniform[3]);
  const float widths =
      std::clamp(mean + width * static_cast<float>(std::clamp(normal, -kNormalMax, kNormalMax)), kLowest, kHighest);
  const float smallest = scale_.units.cell_gev / 30;
  const float energy = fast_exp(widths * scale_.width[z] + scale_.mean[z]) * history.primary_gev - smallest;
  return energy < smallest ? 0 : energy;
}

}  // namespace linac::chain
