// linac's own nodes: what passes make, and the analytic heads of the 3DGAN.
#include <algorithm>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/passes/chain_convolutions.h"
#include "linac/model/graph/split/split_graph.h"

namespace linac::graph {
namespace {

// UpSampling3D and the convolution behind it as one node, made by passes/fold_upsample.
void infer_upsample_conv3d(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 4);
  const Extent3 size = extent3(node, "size");
  std::vector<Shape> enlarged{inputs[0]};
  for (size_t axis = 0; axis < 3; ++axis) enlarged[0][axis] *= size[axis];
  find_layer_kind("Conv3D")->infer(node, enlarged);
}

double flop_upsample_conv3d(const Node& node, const Shape& input) {
  const Extent3 kernel = extent3(node, "kernel_size"), size = extent3(node, "size");
  double products = 1;  // of an output cell and an input cell that it sees
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t taps = 0;
    for (int64_t cell = 0; cell < node.output[axis]; ++cell)
      taps += (cell % size[axis] + kernel[axis] - 1) / size[axis] + 1;
    products *= static_cast<double>(taps);
  }
  return 2.0 * products * static_cast<double>(input[3] * node.output[3]);
}

// Convolutions and what stands between them as one node, made by passes/chain_convolutions.
void infer_chain(Node& node, const std::vector<Shape>& inputs) {
  for (const Node& layer : chain_layers(node, inputs[0])) {
    for (const Weight& weight : layer.weights) {
      node.weights.push_back(weight);
      node.weights.back().name = layer.name + "/" + weight.name;
    }
    node.output = layer.output;
  }
}

double flop_chain(const Node& node, const Shape& input) {
  double total = 0;
  Shape shape = input;
  for (const Node& layer : chain_layers(node, input)) {
    total += layer_kind(layer).flop(layer, shape);
    shape = layer.output;
  }
  return total;
}

// One number an event from an image of one channel.
void infer_scalar_of_image(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 4);
  if (inputs[0][3] != 1) refuse(node, "needs an image of one channel");
  if (number(node, "power", 0) <= 0) refuse(node, "'power' must be positive");
  node.output = {1};
}

// Which steps count, made by passes/join_masks.
void infer_step_mask(Node& node, const std::vector<Shape>& inputs) {
  if (inputs[0].size() < 2) refuse(node, "needs steps of at least one feature");
  node.output = {inputs[0].begin(), inputs[0].end() - 1};
}

// A weight by itself, the same for all events: what python/linac/_keras makes of a weight that a layer of one's own
// has. Its input only ties it to the model.
void infer_traced_weight(Node& node, const std::vector<Shape>&) {
  const nlohmann::json shape = node.attributes.value("shape", nlohmann::json());
  const bool sized = shape.is_array() && std::all_of(shape.begin(), shape.end(), [](const nlohmann::json& size) {
                       return size.is_number_integer() && size >= 1 && size <= kAttributeMax;
                     });
  if (!sized) refuse(node, "'shape' must be a list of sizes");
  node.output = shape.get<Shape>();
  node.weights.push_back({"value", node.output, "zeros", true});
}

// What split/split_graph puts between the layers of a part.
void infer_region(Node& node, const std::vector<Shape>& inputs) {
  const auto part = node.attributes.at("part").get<size_t>();
  node.output = shape_of(region_from(node.attributes.at("needed").at(part)), inputs[0].back());
}

void infer_gather(Node& node, const std::vector<Shape>& inputs) {
  node.output = node.attributes.at("image").get<Shape>();
  node.output.back() = inputs[0].back();
}

}  // namespace

std::vector<LayerKind> own_layers() {
  std::vector<LayerKind> kinds{
      {"UpsampleConv3D", 1, infer_upsample_conv3d, flop_upsample_conv3d},
      {"ConvolutionChain", 1, infer_chain, flop_chain},
      {"StepMask", 1, infer_step_mask, flop_per_element},
      {kPart, 1, infer_same, flop_none},
      {kPartHalo, 1, infer_region, flop_none},
      {kPartSlice, 1, infer_region, flop_none},
      {kPartGather, 1, infer_gather, flop_none},
      {kPartJoin, 1, infer_same, flop_none},
      {"ShowerAngle", 1, infer_scalar_of_image, flop_per_element},
      {"ShowerSum", 1, infer_scalar_of_image, flop_per_element},
  };
  for (LayerKind& kind : kinds) kind.own = true;
  kinds.push_back({kTracedWeight, 1, infer_traced_weight, flop_none, {{"shape", SettingKind::kKept, nullptr}}});
  return kinds;
}

}  // namespace linac::graph
