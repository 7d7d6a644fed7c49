// The analytic heads of the 3DGAN; what passes make is computed by executable.cpp and convolution.cpp.
#include "linac/model/graph/layers.h"
#include "linac/model/nn/layers/families.h"
#include "linac/model/nn/shower_heads.h"

namespace linac::nn {
namespace {

// The image without its channel axis and with the power undone, (N, X, Y, Z).
at::Tensor linear_image(const LayerCall& call) {
  return at::pow(call.x().squeeze(-1), 1 / call.node.attributes.at("power").get<double>());
}

at::Tensor angle_head(const LayerCall& call) {
  return shower_angle(linear_image(call));
}
at::Tensor sum_head(const LayerCall& call) {
  return shower_sum(linear_image(call));
}

}  // namespace

std::vector<NamedLayer> own_layers() {
  return {{"StepMask",
           [](const LayerCall& call) { return steps_unlike(call.x(), call.node.attributes.at("value").get<float>()); }},
          {graph::kPart, [](const LayerCall& call) { return call.x(); }},
          {graph::kTracedWeight, [](const LayerCall& call) { return call.weights[0].unsqueeze(0); }},
          {"ShowerAngle", angle_head},
          {"ShowerSum", sum_head}};
}

}  // namespace linac::nn
