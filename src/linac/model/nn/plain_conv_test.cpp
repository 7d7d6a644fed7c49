#include "linac/model/nn/plain_conv.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <thread>

#include "linac/model/nn/test_network_run.h"

namespace linac::nn {
namespace {

using nlohmann::json;

constexpr int64_t kEvents = 9;

/// Images of 13 x 10 cells.
graph::Graph network(const char* op, int64_t channels, const json& settings, const json& pool) {
  graph::Builder b("network");
  int x = b.input("image", {13, 10, channels});
  x = b.add(op, "conv", {x}, settings);
  if (!pool.is_null()) x = b.add("MaxPooling2D", "pool", {x}, {{"pool_size", pool}});
  return b.finish({b.add("LeakyReLU", "leaky", {x}, {{"negative_slope", 0.1}})});
}

json settings(int64_t filters, const json& size, const char* padding, const char* activation, const json& strides = 1) {
  return {{"filters", filters},
          {"kernel_size", size},
          {"padding", padding},
          {"activation", activation},
          {"strides", strides.is_number() ? json{strides, strides} : strides}};
}

std::vector<graph::Graph> networks() {
  return {network("Conv2D", 16, settings(32, {3, 3}, "same", "relu"), {}),
          network("Conv2D", 32, settings(16, {3, 3}, "valid", "linear"), {2, 2}),
          network("Conv2D", 16, settings(48, {3, 3}, "same", "relu"), {3, 2}),
          network("Conv2D", 16, settings(16, {3, 3}, "same", "gelu"), {}),
          network("Conv2D", 3, settings(16, {3, 3}, "same", "relu"), {2, 2}),
          network("Conv2D", 1, settings(32, {5, 4}, "same", "relu", {2, 3}), {}),
          network("Conv2D", 8, settings(16, {2, 3}, "valid", "tanh", {2, 1}), {}),
          network("Conv2D", 2, settings(16, {1, 1}, "valid", "linear", {2, 2}), {}),
          network("SeparableConv2D", 16, settings(32, {3, 3}, "same", "relu"), {}),
          network("SeparableConv2D", 32, settings(16, {3, 3}, "valid", "linear"), {2, 2}),
          network("SeparableConv2D", 3, settings(16, {3, 3}, "same", "relu"), {}),
          network("DepthwiseConv2D", 16, settings(16, {3, 3}, "same", "relu"), {}),
          network("DepthwiseConv2D", 48, settings(48, {3, 3}, "valid", "linear"), {2, 2})};
}

TEST(PlainConv, AgreesWithLibTorch) {
  size_t number = 0;
  for (const graph::Graph& graph : networks()) {
    SCOPED_TRACE(number++);
    const Outcome own = run_network(graph, Kernels::kLinac, kEvents),
                  theirs = run_network(graph, Kernels::kAten, kEvents);
    expect_near(own.output, theirs.output, "output");
    expect_near(own.inference, theirs.inference, "inference");
    expect_near(own.input_gradient, theirs.input_gradient, "gradient of the input");
    expect_near(own.gradient, theirs.gradient, "gradient of the weights");
  }
}

TEST(PlainConv, ThreadsChangeNoBit) {
  for (const size_t number : {size_t{1}, size_t{4}, size_t{8}, size_t{12}}) {
    const graph::Graph graph = networks().at(number);
    const auto with_threads = [&](int threads) {
      Outcome outcome;
      std::thread([&] {
        at::set_num_threads(threads);
        outcome = run_network(graph, Kernels::kLinac, kEvents);
      }).join();
      return outcome;
    };
    const Outcome one = with_threads(1), three = with_threads(3);
    EXPECT_TRUE(at::equal(one.inference, three.inference)) << number;
    EXPECT_TRUE(at::equal(one.output, three.output)) << number;
    EXPECT_TRUE(at::equal(one.gradient, three.gradient)) << number;
    EXPECT_TRUE(at::equal(one.input_gradient, three.input_gradient)) << number;
  }
}

TEST(PlainConv, NoEventIsNoError) {
  at::Tensor x = at::empty({0, 6, 6, 16}), kernel = at::ones({3, 3, 16, 16});
  x.set_requires_grad(true), kernel.set_requires_grad(true);
  const at::Tensor y = plain_conv({{6, 6, 16, 6, 6, 16, 1, 1}, 0, {2, 2}}, x, kernel, {});
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{0, 3, 3, 16}));
  EXPECT_EQ(torch::autograd::grad({y.sum()}, {kernel})[0].abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace linac::nn
