// Layers that draw numbers in training, and do nothing else.
#include <algorithm>
#include <cmath>

#include "linac/model/graph/split/split_graph.h"
#include "linac/model/nn/dropout.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

double rate_of(const LayerCall& call) {
  return call.node.attributes.at("rate").get<double>();
}

at::Tensor kept_cells(const LayerCall& call, int64_t cells) {
  return draw_kept(call.dropout_key, rate_of(call), call.x().size(0), cells);
}

/// Numbers drawn for all values of an image, of which a part takes those of its cells. (N, cells..., C)
template <class Draw>
at::Tensor of_each_value(const LayerCall& call, const Draw& draw) {
  std::vector<int64_t> sizes = call.x().sizes().vec();
  if (!call.node.attributes.contains(graph::kRegion)) return draw(sizes);
  const auto image = call.node.attributes.at(graph::kImage).get<graph::Shape>();
  std::copy(image.begin(), image.end(), sizes.begin() + 1);
  at::Tensor numbers = draw(sizes);
  const graph::Region region = graph::region_from(call.node.attributes.at(graph::kRegion));
  for (size_t axis = 0; axis < region.size(); ++axis)
    numbers = numbers.narrow(static_cast<int64_t>(axis) + 1, region[axis].begin, region[axis].size());
  return numbers.contiguous();
}

at::Tensor kept_values(const LayerCall& call) {
  return of_each_value(call, [&](const std::vector<int64_t>& sizes) {
    int64_t values = 1;
    for (size_t axis = 1; axis < sizes.size(); ++axis) values *= sizes[axis];
    return kept_cells(call, values).view(sizes);
  });
}

at::Tensor draw_normal(const LayerCall& call) {
  const at::Tensor noise = of_each_value(call, [&](const std::vector<int64_t>& sizes) {
    at::Tensor all = at::empty(sizes, at::kFloat);
    fill_normal(call.dropout_key, {all.mutable_data_ptr<float>(), static_cast<size_t>(all.numel())});
    return all;
  });
  return noise.to(call.x().device());
}

bool is_off(const LayerCall& call) {
  return !call.training() || rate_of(call) == 0;
}

// Drawn in Keras's axes, so that the mask of a cell does not depend on the layout in memory.
at::Tensor dropout(const LayerCall& call) {
  if (is_off(call)) return call.x();
  const at::Tensor mask = kept_values(call);
  if (call.options.dropout_masks != nullptr) call.options.dropout_masks->push_back(mask);
  return call.x() * mask.to(call.x().device());
}

// Whole channels.
at::Tensor spatial_dropout(const LayerCall& call) {
  if (is_off(call)) return call.x();
  const at::Tensor& x = call.x();
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape.front() = x.size(0);
  shape.back() = x.size(-1);
  return x * kept_cells(call, x.size(-1)).view(shape).to(x.device());
}

at::Tensor gaussian_dropout(const LayerCall& call) {
  if (is_off(call)) return call.x();
  const double rate = rate_of(call);
  return call.x() * (1 + std::sqrt(rate / (1 - rate)) * draw_normal(call));
}

// Keeps mean and variance of SELU's outputs (Klambauer et al., arXiv:1706.02515).
at::Tensor alpha_dropout(const LayerCall& call) {
  if (is_off(call)) return call.x();
  constexpr double kAlpha = -1.6732632423543772 * 1.0507009873554805;
  const double rate = rate_of(call), a = 1 / std::sqrt((1 - rate) * (1 + rate * kAlpha * kAlpha)),
               b = -a * kAlpha * rate;
  const at::Tensor kept = kept_values(call).to(call.x().device()) != 0;
  return a * at::where(kept, call.x(), at::scalar_tensor(kAlpha, call.x().options())) + b;
}

at::Tensor gaussian_noise(const LayerCall& call) {
  const double deviation = call.node.attributes.at("stddev").get<double>();
  return call.training() && deviation > 0 ? call.x() + deviation * draw_normal(call) : call.x();
}

}  // namespace

std::vector<NamedLayer> random_layers() {
  return {{"Dropout", dropout},
          {"GaussianDropout", gaussian_dropout},
          {"AlphaDropout", alpha_dropout},
          {"SpatialDropout1D", spatial_dropout},
          {"SpatialDropout2D", spatial_dropout},
          {"SpatialDropout3D", spatial_dropout},
          {"GaussianNoise", gaussian_noise}};
}

}  // namespace linac::nn
