#include "linac/model/models/binary_classifier.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/nn/executable.h"
#include "linac/model/nn/gradient.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::models {
namespace {

using nlohmann::json;

int add_dense(graph::Builder& b, const std::string& name, int x, int64_t units, bool relu) {
  json attributes{{"units", units}, {"kernel_initializer", relu ? "he_uniform" : "glorot_uniform"}};
  if (relu) attributes["activation"] = "relu";
  return b.add("Dense", name, {x}, std::move(attributes));
}

}  // namespace

struct BinaryClassifier::Network {
  nn::Executable executable;

  // `inputs` as a tensor of whole events.
  at::Tensor events(std::span<const float> inputs) const {
    const graph::Graph& graph = executable.graph();
    const graph::Shape& event = graph.nodes[static_cast<size_t>(graph.inputs[0])].output;
    return nn::tensor_view(inputs,
                           nn::batch_shape(static_cast<int64_t>(inputs.size()) / graph::elements(event), event));
  }
};

BinaryClassifier::BinaryClassifier(graph::Graph network) : network_(new Network{nn::Executable(std::move(network))}) {
  const graph::Graph& graph = network_->executable.graph();
  LINAC_CHECK(graph.inputs.size() == 1 && graph.outputs.size() == 1 &&
              graph.nodes[static_cast<size_t>(graph.outputs[0])].output == graph::Shape{1});
}

BinaryClassifier::~BinaryClassifier() = default;

const graph::Graph& BinaryClassifier::network() const {
  return network_->executable.graph();
}

AlignedFloats BinaryClassifier::gradient(const graph::Parameters& parameters, std::span<const float> inputs,
                                         std::span<const float> labels, std::span<const float> weights,
                                         const RngKey& key) const {
  const nn::Weights tensors = nn::make_weights(network(), parameters, nn::Gradients::kWanted);
  const at::Tensor logits = network_->executable.run(tensors, {network_->events(inputs)},
                                                     {.mode = nn::Mode::kTraining, .dropout_key = key})[0];
  const auto n = static_cast<int64_t>(labels.size());
  const at::Tensor loss =
      at::binary_cross_entropy_with_logits(logits, nn::tensor_view(labels, {n, 1}), nn::tensor_view(weights, {n, 1}));
  return nn::flat_gradient(loss, tensors, parameters.trainable_layout);
}

std::vector<float> BinaryClassifier::scores(const graph::Parameters& parameters, std::span<const float> inputs) const {
  const at::NoGradGuard no_gradient;
  const nn::Weights tensors = nn::make_weights(network(), parameters, nn::Gradients::kNone);
  const at::Tensor logits = network_->executable.run(tensors, {network_->events(inputs)}, {})[0].contiguous();
  return {logits.const_data_ptr<float>(), logits.const_data_ptr<float>() + logits.numel()};
}

graph::Graph observables_classifier(int64_t features) {
  graph::Builder b("observables_classifier");
  int x = b.input("observables", {features});
  x = add_dense(b, "dense_1", x, 64, true);
  x = b.add("Dropout", "dropout_1", {x}, {{"rate", 0.1}});
  x = add_dense(b, "dense_2", x, 64, true);
  x = b.add("Dropout", "dropout_2", {x}, {{"rate", 0.1}});
  return b.finish({add_dense(b, "score", x, 1, false)});
}

graph::Graph cells_classifier(const graph::Shape& image) {
  constexpr int kBlocks = 2;
  graph::Builder b("cells_classifier");
  int x = b.input("image", image);
  graph::Shape extents = image;
  for (int block = 1; block <= kBlocks; ++block) {
    const std::string number = std::to_string(block);
    std::array<int64_t, 3> pool{};
    for (size_t axis = 0; axis < 3; ++axis) {
      pool[axis] = std::min<int64_t>(2, extents[axis]);
      extents[axis] /= pool[axis];
    }
    x = b.add("Conv3D", "conv_" + number, {x},
              {{"filters", 8}, {"kernel_size", {3, 3, 3}}, {"padding", "same"}, {"kernel_initializer", "he_uniform"}});
    x = b.add("LeakyReLU", "leaky_" + number, {x}, {{"negative_slope", 0.1}});
    x = b.add("AveragePooling3D", "pool_" + number, {x}, {{"pool_size", pool}});
  }
  x = b.add("Flatten", "flatten", {x});
  x = b.add("Dropout", "dropout", {x}, {{"rate", 0.2}});
  x = add_dense(b, "dense", x, 32, true);
  return b.finish({add_dense(b, "score", x, 1, false)});
}

}  // namespace linac::models
