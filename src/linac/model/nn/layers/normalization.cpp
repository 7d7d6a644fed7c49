#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/split/split_graph.h"
#include "linac/model/nn/batch_norm.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

double epsilon_of(const LayerCall& call) {
  return call.node.attributes.value("epsilon", 1e-3);
}

/// gamma and beta, undefined where the layer has none.
struct ScaleAndCenter {
  at::Tensor gamma, beta;
  size_t weights = 0;  // how many they are

  explicit ScaleAndCenter(const LayerCall& call) {
    if (call.node.attributes.value("scale", true)) gamma = call.weights[weights++];
    if (call.node.attributes.value("center", true)) beta = call.weights[weights++];
  }
  at::Tensor apply(const at::Tensor& x) const {
    const at::Tensor scaled = gamma.defined() ? x * gamma : x;
    return beta.defined() ? scaled + beta : scaled;
  }
};

void hand_over(const LayerCall& call, const BatchMoments& moments) {
  if (call.statistics.empty()) return;
  std::copy(moments.mean.begin(), moments.mean.end(), call.statistics[0].begin());
  std::copy(moments.variance.begin(), moments.variance.end(), call.statistics[1].begin());
}

/// Mean and variance are those of the steps that count, zeros where there is none; all steps are normalised by them, as
/// in Keras. In double precision, by LibTorch: sequences are small beside images.
at::Tensor masked_batch_normalization(const LayerCall& call, const ScaleAndCenter& weights, int64_t dim) {
  constexpr double kLeastCount = 1e-7;  // keras.backend.epsilon()
  if (call.mask().dim() != call.x().dim() - 1) {
    throw user_error(
        fmt::format("[nn] layer '{}' (BatchNormalization): cannot be trained with a mask of {} axes "
                    "for an input of {}; the mask needs one axis less than the input",
                    call.node.name, call.mask().dim(), call.x().dim()));
  }
  const at::Tensor x = call.x().to(at::kDouble);
  const at::Tensor counts = call.mask().unsqueeze(-1).expand(x.sizes());
  std::vector<int64_t> others;
  for (int64_t axis = 0; axis < x.dim(); ++axis) {
    if (axis != dim) others.push_back(axis);
  }
  const at::Tensor zero = at::zeros({}, x.options());
  const at::Tensor steps = at::sum(counts.to(at::kDouble), others, true) + kLeastCount;
  const auto mean_of = [&](const at::Tensor& values) {
    return at::sum(at::where(counts, values, zero), others, true) / steps;
  };
  const at::Tensor mean = mean_of(x), centered = x - mean, variance = mean_of(centered * centered);
  const auto doubles = [](const at::Tensor& values) {
    const at::Tensor host = values.detach().flatten().to(at::kCPU);
    return std::vector<double>(host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel());
  };
  hand_over(call, {doubles(mean), doubles(variance)});
  const at::Tensor normal = (centered * at::rsqrt(variance + epsilon_of(call))).to(call.x().scalar_type());
  return weights.apply(normal.movedim(dim, -1)).movedim(-1, dim);
}

/// Whose images together give the statistics; null: this one's alone.
graph::PartLink* parts_of(const LayerCall& call) {
  if (!call.node.attributes.value(graph::kAllParts, false)) return nullptr;
  LINAC_CHECK(call.options.part != nullptr);
  return call.options.part;
}

/// (N, C, ...) with the normalised axis second; images as NCXYZ, everything else with as many axes.
at::Tensor batch_normalization(const LayerCall& call) {
  const ScaleAndCenter weights(call);
  const size_t axis = graph::axes_of(call.node, "axis", call.node.output.size(), -1)[0];
  const auto dim = static_cast<int64_t>(axis) + 1;
  const at::Tensor x = call.x().movedim(dim, 1);
  const at::Tensor &mean = call.weights[weights.weights], &variance = call.weights[weights.weights + 1];
  if (!call.training() || graph::is_frozen(call.node)) {
    const at::Tensor y =
        at::batch_norm(x, weights.gamma, weights.beta, mean, variance, false, 0, epsilon_of(call), false);
    return fused_activation(call.node, y).movedim(1, dim);
  }
  if (call.mask().defined()) return fused_activation(call.node, masked_batch_normalization(call, weights, dim));
  // linac's own sums want five axes: the others are one cell wide.
  const at::Tensor last = x.movedim(1, -1);
  const bool image = x.dim() == 5;
  const at::Tensor cells = image ? x : last.reshape({-1, 1, 1, 1, x.size(1)}).movedim(-1, 1);
  BatchMoments moments;
  const at::Tensor y = batch_norm_training(cells,
                                           {.gamma = weights.gamma,
                                            .beta = weights.beta,
                                            .epsilon = epsilon_of(call),
                                            .negative_slope = fused_negative_slope(call.node),
                                            .parts = parts_of(call)},
                                           moments);
  hand_over(call, moments);
  return image ? y.movedim(1, dim) : y.movedim(1, -1).reshape(last.sizes()).movedim(-1, dim);
}

std::vector<int64_t> dims_of(const LayerCall& call) {
  std::vector<int64_t> dims;
  for (const size_t axis : graph::axes_of(call.node, "axis", call.node.output.size(), -1))
    dims.push_back(static_cast<int64_t>(axis) + 1);
  return dims;
}

/// A weight with the sizes of `dims`, to multiply x.
at::Tensor broadcast_to_axes(const at::Tensor& weight, const at::Tensor& x, const std::vector<int64_t>& dims) {
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  for (const int64_t dim : dims) shape[static_cast<size_t>(dim)] = x.size(dim);
  return weight.reshape(shape);
}

at::Tensor layer_normalization(const LayerCall& call) {
  const at::Tensor& x = call.x();
  const auto dims = dims_of(call);
  ScaleAndCenter weights(call);
  bool last = true;  // the normalised axes
  for (size_t i = 0; i < dims.size(); ++i) last = last && dims[i] == x.dim() - static_cast<int64_t>(dims.size() - i);
  if (last) {
    return at::layer_norm(x, x.sizes().slice(static_cast<size_t>(x.dim()) - dims.size()), weights.gamma, weights.beta,
                          epsilon_of(call));
  }
  for (at::Tensor* weight : {&weights.gamma, &weights.beta}) {
    if (weight->defined()) *weight = broadcast_to_axes(*weight, x, dims);
  }
  const at::Tensor centered = x - at::mean(x, dims, true);
  return weights.apply(centered * at::rsqrt(at::mean(centered * centered, dims, true) + epsilon_of(call)));
}

at::Tensor rms_normalization(const LayerCall& call) {
  const at::Tensor& x = call.x();
  const auto dims = dims_of(call);
  const double epsilon = call.node.attributes.value("epsilon", 1e-6);
  return x * at::rsqrt(at::mean(x * x, dims, true) + epsilon) * broadcast_to_axes(call.weights[0], x, dims);
}

// Channels in groups, each normalised over its channels and all cells of an event.
at::Tensor group_normalization(const LayerCall& call) {
  const at::Tensor& x = call.x();
  const nlohmann::json groups = call.node.attributes.value("groups", nlohmann::json(32));
  const int64_t channels = x.size(-1), count = groups == -1 ? channels : groups.get<int64_t>();
  const at::Tensor grouped = x.reshape({x.size(0), -1, count, channels / count});
  const at::Tensor centered = grouped - at::mean(grouped, {1, 3}, true);
  const at::Tensor normal = centered * at::rsqrt(at::mean(centered * centered, {1, 3}, true) + epsilon_of(call));
  return ScaleAndCenter(call).apply(normal.reshape(x.sizes()));
}

at::Tensor unit_normalization(const LayerCall& call) {
  const at::Tensor& x = call.x();
  return x * at::rsqrt(at::clamp_min(at::sum(x * x, dims_of(call), true), 1e-12));
}

// By statistics of the data it was adapted to, which are not trained.
at::Tensor normalization(const LayerCall& call) {
  const at::Tensor& x = call.x();
  const auto dims = dims_of(call);
  const auto statistic = [&](const char* name, size_t weight) {
    const at::Tensor value = call.weights.empty() ? constant(call.node.attributes.at(name), x) : call.weights[weight];
    return value.dim() == 0 ? value : broadcast_to_axes(value, x, dims);
  };
  const at::Tensor mean = statistic("mean", 0), deviation = at::clamp_min(at::sqrt(statistic("variance", 1)), 1e-7);
  return call.node.attributes.value("invert", false) ? mean + x * deviation : (x - mean) / deviation;
}

}  // namespace

std::vector<NamedLayer> normalization_layers() {
  return {{"BatchNormalization", batch_normalization}, {"LayerNormalization", layer_normalization},
          {"RMSNormalization", rms_normalization},     {"GroupNormalization", group_normalization},
          {"UnitNormalization", unit_normalization},   {"Normalization", normalization}};
}

}  // namespace linac::nn
