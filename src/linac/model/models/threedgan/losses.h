#pragma once
// The adversarial losses of the 3DGAN, as sums over events times a weight an event: the caller divides by the *global*
// batch, so that the sum over replicas is the mean. Thread-safe.

#include <ATen/ATen.h>

#include <array>
#include <vector>

#include "linac/base/job/model_kinds.h"
#include "linac/model/models/threedgan/loss_parts.h"

namespace linac::models::threedgan {

/// What the discriminator should say, (N, 1) each, on any device: label 0 or 1, Y = energy / 100 GeV, angle in rad,
/// ecal in scaled units.
struct Targets {
  at::Tensor label, energy, angle, ecal;
};

/// Unweighted parts and the weighted total, each a scalar tensor: binary cross-entropy, mean absolute percentage error
/// (percent), mean absolute error, mean absolute percentage error. `outputs` are the discriminator's, in its order.
std::array<at::Tensor, kLossParts> losses(const std::vector<at::Tensor>& outputs, const Targets& targets,
                                          const job::GanLossWeights& weights, double event_weight);

}  // namespace linac::models::threedgan
