#include "linac/model/models/threedgan/losses.h"

#include "linac/model/models/threedgan/likeness.h"

namespace linac::models::threedgan {
namespace {

constexpr double kEpsilon = 1e-7;  // Keras's backend epsilon, in both losses below

// Keras clips the probability before the logarithm.
at::Tensor cross_entropy(const at::Tensor& probability, const at::Tensor& label) {
  const at::Tensor p = at::clamp(probability, kEpsilon, 1 - kEpsilon);
  return -(label * at::log(p) + (1 - label) * at::log(1 - p)).sum();
}

at::Tensor percentage_error(const at::Tensor& value, const at::Tensor& target) {
  return 100 * (at::abs(target - value) / at::clamp_min(at::abs(target), kEpsilon)).sum();
}

}  // namespace

std::vector<std::string> generator_losses(const job::GanLossWeights& weights) {
  std::vector<std::string> names(kLossNames.begin(), kLossNames.end());
  for (const LikenessLoss& loss : kLikenessLosses)
    if (weights.*loss.weight > 0) names.emplace_back(loss.name);
  return names;
}

std::array<at::Tensor, kLossParts> losses(const std::vector<at::Tensor>& outputs, const Targets& targets,
                                          const job::GanLossWeights& weights, double event_weight) {
  const auto beside = [&](const at::Tensor& target) { return target.to(outputs[0].device()); };
  std::array<at::Tensor, kLossParts> parts;
  parts[kGeneration] = event_weight * cross_entropy(outputs[kGeneration], beside(targets.label));
  parts[kAuxiliary] = event_weight * percentage_error(outputs[kAuxiliary], beside(targets.energy));
  parts[kAngle] = event_weight * at::abs(beside(targets.angle) - outputs[kAngle]).sum();
  parts[kEcal] = event_weight * percentage_error(outputs[kEcal], beside(targets.ecal));
  parts[kTotal] = weights.generation * parts[kGeneration] + weights.auxiliary * parts[kAuxiliary] +
                  weights.angle * parts[kAngle] + weights.ecal * parts[kEcal];
  return parts;
}

}  // namespace linac::models::threedgan
