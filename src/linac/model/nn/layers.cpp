#include "linac/model/nn/layers.h"

#include <fmt/format.h>

#include <map>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {

LayerFunction layer_function(const std::string& op) {
  static const std::map<std::string, LayerFunction> table = [] {
    std::map<std::string, LayerFunction> all;
    for (const auto& family :
         {core_layers(), random_layers(), convolution_layers(), pooling_layers(), shape_layers(), image_layers(),
          merge_layers(), normalization_layers(), activation_layers(), sequence_layers(), attention_layers(),
          operation_nodes(), array_operations(), own_layers(), part_layers()})
      all.insert(family.begin(), family.end());
    return all;
  }();
  const auto found = table.find(op);
  if (found == table.end())
    throw Error(ErrorCode::kInternal, fmt::format("[nn] layer class '{}' cannot be computed", op));
  return found->second;
}

at::Tensor channels_first(const at::Tensor& x) {
  return x.movedim(-1, 1);
}
at::Tensor channels_last(const at::Tensor& x) {
  return x.movedim(1, -1);
}

at::Tensor bias_of(const LayerCall& call) {
  return call.weights.size() > 1 ? call.weights[1] : at::Tensor();
}

int64_t joined_axis(const LayerCall& call) {
  const nlohmann::json axis = call.node.attributes.value("axis", nlohmann::json(-1));
  return static_cast<int64_t>(graph::axis_of(call.node, axis, call.node.output.size())) + 1;
}

at::Tensor constant(const nlohmann::json& value, const at::Tensor& like) {
  if (value.is_number()) return at::scalar_tensor(value.get<double>(), like.options());
  return at::tensor(value.get<std::vector<double>>(), at::kDouble).to(like.options());
}

at::Tensor expand_mask(const at::Tensor& mask, const at::Tensor& x) {
  at::Tensor expanded = mask;
  while (expanded.dim() < x.dim()) expanded = expanded.unsqueeze(-1);
  return expanded;
}

}  // namespace linac::nn
