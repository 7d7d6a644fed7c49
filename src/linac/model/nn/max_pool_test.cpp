#include "linac/model/nn/max_pool.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <thread>

#include "linac/model/graph/passes/fuse_pooling.h"
#include "linac/model/nn/test_network_run.h"

namespace linac::nn {
namespace {

using nlohmann::json;

json conv(int64_t filters, const json& kernel, const char* activation = "linear") {
  return {{"filters", filters}, {"kernel_size", kernel}, {"padding", "same"}, {"activation", activation}};
}

/// Each convolution that a pool is fused into, with windows that leave cells over and channels that fill no vector.
graph::Graph images() {
  graph::Builder b("images");
  int x = b.input("image", {17, 14, 3});
  x = b.add("Conv2D", "conv", {x}, conv(20, {3, 3}, "relu"));
  x = b.add("MaxPooling2D", "pool_1", {x});
  x = b.add("DepthwiseConv2D", "depthwise", {x}, {{"kernel_size", {2, 2}}, {"padding", "same"}});
  x = b.add("LeakyReLU", "leaky", {x}, {{"negative_slope", 0.3}});
  x = b.add("MaxPooling2D", "pool_2", {x}, {{"pool_size", {1, 3}}});
  x = b.add("SeparableConv2D", "separable", {x}, conv(16, {3, 3}));
  return b.finish({b.add("MaxPooling2D", "pool_3", {x})});
}

graph::Graph sequences() {
  graph::Builder b("sequences");
  int x = b.input("steps", {23, 4});
  x = b.add("Conv1D", "conv", {x}, {{"filters", 5}, {"kernel_size", {3}}, {"use_bias", false}, {"activation", "relu"}});
  x = b.add("MaxPooling1D", "pool_1", {x}, {{"pool_size", {4}}});
  x = b.add("SeparableConv1D", "separable", {x}, conv(33, {3}, "relu"));
  return b.finish({b.add("MaxPooling1D", "pool_2", {x})});
}

/// Too wide for a chain of convolutions.
graph::Graph volumes() {
  graph::Builder b("volumes");
  int x = b.input("image", {6, 5, 7, 2});
  x = b.add("Conv3D", "conv", {x}, conv(35, {2, 3, 3}, "relu"));
  return b.finish({b.add("MaxPooling3D", "pool", {x}, {{"pool_size", {2, 2, 3}}})});
}

TEST(MaxPool, FusedAgreesWithLibTorchLayerByLayer) {
  for (const graph::Graph& graph : {images(), sequences(), volumes()}) {
    SCOPED_TRACE(graph.name);
    const Executable network(graph);
    for (const graph::Node& node : network.graph().nodes)
      EXPECT_FALSE(node.op.starts_with("MaxPooling")) << node.name << " was left";
    const Outcome fused = run_network(graph, Kernels::kLinac, 5), layers = run_network(graph, Kernels::kAten, 5);
    expect_near(fused.output, layers.output, "output");
    expect_near(fused.input_gradient, layers.input_gradient, "gradient of the input");
    expect_near(fused.gradient, layers.gradient, "gradient of the weights");
    expect_near(fused.inference, layers.output, "inference");
  }
}

TEST(MaxPool, ThreadsChangeNoBit) {
  const auto with_threads = [](int threads) {
    at::Tensor y, dx, db;
    std::thread([&] {
      at::set_num_threads(threads);
      at::Tensor x = at::arange(7 * 8 * 6 * 19, at::kFloat).sin().reshape({7, 8, 6, 19});
      at::Tensor bias = at::arange(19, at::kFloat).cos();
      x.set_requires_grad(true), bias.set_requires_grad(true);
      y = max_pool_activated(x, bias, 0.2, {2, 2});
      const auto gradients = torch::autograd::grad({(y * y).sum()}, {x, bias});
      dx = gradients[0], db = gradients[1];
    }).join();
    return std::vector<at::Tensor>{y.detach(), dx, db};
  };
  const auto one = with_threads(1), three = with_threads(3);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], three[i])) << i;
}

TEST(MaxPool, NoEventIsNoError) {
  at::Tensor x = at::empty({0, 4, 4, 3}), bias = at::zeros({3});
  x.set_requires_grad(true), bias.set_requires_grad(true);
  const at::Tensor y = max_pool_activated(x, bias, 0, {2, 2});
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(torch::autograd::grad({y.sum()}, {bias})[0].sizes(), (std::vector<int64_t>{3}));
}

}  // namespace
}  // namespace linac::nn
