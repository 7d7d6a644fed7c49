#include "linac/model/nn/chain_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/passes/chain_convolutions.h"
#include "linac/model/graph/split/split_graph.h"
#include "linac/model/kernels/upsample_conv.h"

namespace linac::nn {
namespace {

using kernels::Extent3;

Extent3 cells_of(const graph::Shape& image) {
  return {image[0], image[1], image[2]};
}

/// Puts the stages together, layer by layer.
struct Assembly {
  Assembly(std::vector<Stage>& stages, graph::Shape input) : stages(stages), shape(std::move(input)) {}

  std::vector<Stage>& stages;
  Extent3 pool{1, 1, 1};
  graph::Shape shape;  // what the next layer reads
  int weight = 0;      // the next of the chain's
  // Of a ZeroPadding3D that waits for its convolution.
  std::array<std::array<int64_t, 2>, 3> padding{};
  std::string padding_name;

  /// `window`: of a MaxPooling3D behind the layer, if it is a convolution.
  void add(const graph::Node& layer, uint32_t index, const Extent3& window) {
    if (layer.op == "ZeroPadding3D") {
      padding = graph::zero_padding(layer);
      padding_name = layer.name + " + ";
      return;  // `shape` stays that of the image before the padding
    }
    if (layer.op == graph::kPartHalo) {
      ChainHalo& halo = stages.back().halo.emplace(layer, shape);
      padding = halo.padding;
      padding_name = layer.name + " + ";
      shape = {halo.frame.cells[0], halo.frame.cells[1], halo.frame.cells[2], shape[3]};
      return;
    }
    if (layer.op == "Conv3D") {
      add_conv(layer, window);
    } else if (layer.op == "UpsampleConv3D") {
      add_upsample(layer, window);
    } else if (layer.op == "AveragePooling3D") {
      pool = graph::extent3(layer, "pool_size");
    } else {
      add_to_stage(layer, index);
    }
    shape = layer.output;
  }

 private:
  void add_conv(const graph::Node& layer, const Extent3& window) {
    if (padding_name.empty()) padding = graph::own_padding(layer);
    kernels::Conv3dShape conv{};
    conv.in = cells_of(shape), conv.in_channels = shape[3];
    conv.kernel = graph::extent3(layer, "kernel_size"), conv.out_channels = layer.output[3];
    for (size_t i = 0; i < 3; ++i) {
      conv.before[i] = padding[i][0];
      // Cells that no window covers need not be computed.
      conv.behind[i] = padding[i][1] - std::min(padding[i][1], layer.output[i] % window[i]);
    }
    const kernels::ConvMethod method = kernels::choose_method(conv);
    start_stage(layer, kernels::make_conv3d(conv, method), kernels::to_string(method), conv.flop(), conv.out(), window);
    padding = {};
  }

  void add_upsample(const graph::Node& layer, const Extent3& window) {
    const kernels::UpsampleShape conv{cells_of(shape), shape[3], graph::extent3(layer, "size"),
                                      graph::extent3(layer, "kernel_size"), layer.output[3]};
    start_stage(layer, std::make_unique<kernels::UpsampleConv3d>(conv), "folded",
                graph::layer_kind(layer).flop(layer, shape), cells_of(layer.output), window);
  }

  void start_stage(const graph::Node& layer, std::unique_ptr<const kernels::BlockedConv3d> conv,
                   const std::string& method, double flop, const Extent3& made, const Extent3& window) {
    Stage stage;
    stage.conv = std::move(conv);
    stage.in = {cells_of(shape), shape[3]};
    stage.made = {made, layer.output[3]};
    stage.window = window;
    stage.out = {{made[0] / window[0], made[1] / window[1], made[2] / window[2]}, layer.output[3]};
    stage.layers = padding_name + layer.name;
    stage.method = method;
    stage.flop = flop;
    stage.kernel = weight++;
    if (layer.weights.size() > 1) stage.bias = weight++;
    if (layer.attributes.value("activation", "linear") == "relu") stage.slope = 0;
    stages.push_back(std::move(stage));
    padding_name.clear();
  }

  void add_to_stage(const graph::Node& layer, uint32_t index) {
    Stage& stage = stages.back();
    stage.layers += " + " + layer.name;
    if (layer.op == "LeakyReLU") {
      stage.slope = static_cast<float>(layer.attributes.value("negative_slope", 0.3));
    } else if (layer.op == "Activation") {
      if (layer.attributes.value("activation", "linear") == "relu") stage.slope = 0;
    } else if (layer.op == "MaxPooling3D") {
      LINAC_CHECK(layer.output[3] == stage.out.channels && cells_of(layer.output) == stage.out.cells);
    } else if (layer.op == "BatchNormalization") {
      stage.epsilon = layer.attributes.value("epsilon", 1e-3);
      stage.all_parts = layer.attributes.value(graph::kAllParts, false);
      if (layer.attributes.value("scale", true)) stage.gamma = weight++;
      if (layer.attributes.value("center", true)) stage.beta = weight++;
      stage.moving_mean = weight;
      stage.frozen = graph::is_frozen(layer);
      weight += 2;
    } else if (layer.op == "Dropout") {
      stage.rate = layer.attributes.at("rate").get<double>();
      stage.lane = layer.attributes.value(graph::kLane, index);
      stage.drawn_for = stage.out.cells;
      if (layer.attributes.contains(graph::kRegion)) {
        const graph::Region region = graph::region_from(layer.attributes.at(graph::kRegion));
        stage.drawn_for = cells_of(layer.attributes.at(graph::kImage).get<graph::Shape>());
        stage.drawn_at[0] = region[0].begin, stage.drawn_at[1] = region[1].begin;
      }
    } else {
      throw Error(ErrorCode::kInternal, fmt::format("[nn] '{}' cannot be part of a chain", layer.op));
    }
  }
};

/// The window of the pool over what layer i gives, behind its activation.
Extent3 window_behind(const std::vector<graph::Node>& layers, size_t i) {
  while (++i < layers.size()) {
    if (layers[i].op == "MaxPooling3D") return graph::extent3(layers[i], "pool_size");
    if (layers[i].op != "Activation" && layers[i].op != "LeakyReLU") break;
  }
  return {1, 1, 1};
}

}  // namespace

ChainPlan::ChainPlan(const graph::Node& chain, const graph::Shape& input, kernels::Storage storage)
    : output{cells_of(chain.output), chain.output[3]}, storage(storage) {
  Assembly assembly(stages, input);
  const std::vector<graph::Node> layers = graph::chain_layers(chain, input);
  for (size_t i = 0; i < layers.size(); ++i)
    assembly.add(layers[i], chain.attributes.at("layers")[i].at("index").get<uint32_t>(), window_behind(layers, i));
  pool = assembly.pool;
}

}  // namespace linac::nn
