#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

void infer_activation(Node& node, const std::vector<Shape>& inputs) {
  check_activation(node);
  node.output = inputs[0];
}

// A layer of its own in Keras, an activation here wherever one says the same.
void adapt_relu(Node& node, const json&) {
  const double slope = node.attributes.value("negative_slope", 0.0);
  if (node.attributes.contains("max_value") || node.attributes.value("threshold", 0.0) != 0) return;
  node.op = slope == 0 ? "Activation" : "LeakyReLU";
  node.attributes = slope == 0 ? json{{"activation", "relu"}} : json{{"negative_slope", slope}};
}

void infer_prelu(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  Shape alpha = inputs[0];
  const json shared = node.attributes.value("shared_axes", json());
  if (!shared.is_null() && !(shared.is_array() && shared.empty())) {
    for (const size_t axis : axes_of(node, "shared_axes", inputs[0].size(), -1)) alpha[axis] = 1;
  }
  node.weights.push_back({"alpha", alpha, text(node, "alpha_initializer", "zeros"), true});
}

void infer_softmax(Node& node, const std::vector<Shape>& inputs) {
  if (axes_of(node, "axis", inputs[0].size(), -1).size() != 1) refuse(node, "only one axis is supported");
  node.output = inputs[0];
}

}  // namespace

std::vector<LayerKind> activation_layers() {
  return {
      {"Activation", 1, infer_activation, flop_per_element, {{"activation", kActivation, "linear"}}},
      {"ReLU",
       1,
       infer_same,
       flop_per_element,
       {{"negative_slope", kKept, 0.0}, {"max_value", kKept, nullptr}, {"threshold", kKept, 0.0}},
       false,
       adapt_relu},
      {"LeakyReLU", 1, infer_same, flop_per_element, {{"negative_slope", kKept, 0.3}, {"alpha", kIgnored, nullptr}}},
      {"PReLU",
       1,
       infer_prelu,
       flop_per_element,
       {{"alpha_initializer", kInitializer, "zeros"}, {"shared_axes", kKept, nullptr}}},
      {"ELU", 1, infer_same, flop_per_element, {{"alpha", kKept, 1.0}}},
      {"Softmax", 1, infer_softmax, flop_per_element, {{"axis", kKept, -1}}},
  };
}

}  // namespace linac::graph
