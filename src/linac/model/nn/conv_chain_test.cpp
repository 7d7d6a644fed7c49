#include "linac/model/nn/conv_chain.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>

#include "linac/model/graph/passes/chain_convolutions.h"
#include "linac/model/graph/passes/fold_upsample.h"
#include "linac/model/nn/executable.h"
#include "linac/model/nn/gradient.h"

namespace linac::nn {
namespace {

using nlohmann::json;

json conv(int64_t filters, std::array<int64_t, 3> kernel, const char* padding = "valid") {
  return {{"filters", filters}, {"kernel_size", kernel}, {"padding", padding}};
}

/// Everything a chain can hold: paddings, both kinds of convolution, activations, normalisation with and without its
/// factors, dropout, a pool that leaves cells over; and a dense layer behind it.
graph::Graph discriminating() {
  graph::Builder b("discriminating");
  int x = b.input("image", {9, 10, 12, 2});
  x = b.add("Conv3D", "conv_1", {x}, conv(5, {5, 4, 4}, "same"));
  x = b.add("LeakyReLU", "leaky_1", {x}, {{"negative_slope", 0.3}});
  x = b.add("Dropout", "drop_1", {x}, {{"rate", 0.2}});
  x = b.add("ZeroPadding3D", "pad_2", {x}, {{"padding", {0, 1, 1}}});
  x = b.add("Conv3D", "conv_2", {x}, conv(4, {3, 3, 3}));
  x = b.add("LeakyReLU", "leaky_2", {x}, {{"negative_slope", 0.1}});
  x = b.add("BatchNormalization", "bn_2", {x}, {{"epsilon", 1e-6}});
  x = b.add("Dropout", "drop_2", {x}, {{"rate", 0.4}});
  x = b.add("Conv3D", "conv_3", {x},
            {{"filters", 3}, {"kernel_size", {2, 2, 2}}, {"use_bias", false}, {"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_3", {x}, {{"epsilon", 1e-6}, {"scale", false}});
  x = b.add("AveragePooling3D", "pool", {x}, {{"pool_size", {2, 2, 3}}});
  x = b.add("Flatten", "flatten", {x});
  return b.finish({b.add("Dense", "dense", {x}, {{"units", 2}})});
}

graph::Graph generating() {
  graph::Builder b("generating");
  int x = b.input("latent", {3, 2, 3, 4});
  x = b.add("UpSampling3D", "upsample", {x}, {{"size", {3, 4, 2}}});
  x = b.add("Conv3D", "conv_1", {x}, conv(4, {3, 3, 3}));
  x = b.add("Activation", "relu_1", {x}, {{"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_1", {x}, {{"epsilon", 1e-6}});
  x = b.add("ZeroPadding3D", "pad_2", {x}, {{"padding", {2, 2, 1}}});
  x = b.add("Conv3D", "conv_2", {x}, conv(6, {4, 4, 4}));
  x = b.add("Activation", "relu_2", {x}, {{"activation", "relu"}});
  x = b.add("Conv3D", "conv_3", {x}, conv(1, {2, 2, 2}));
  return b.finish({x});
}

/// Largest cells with and without what stands before and behind them; windows that leave cells over on each axis, where
/// the convolution's padding can be cut and where there is none.
graph::Graph with_largest_cells() {
  graph::Builder b("with_largest_cells");
  int x = b.input("image", {13, 15, 11, 2});
  x = b.add("Conv3D", "conv_1", {x}, conv(5, {3, 3, 3}, "same"));
  x = b.add("LeakyReLU", "leaky_1", {x}, {{"negative_slope", 0.3}});
  x = b.add("MaxPooling3D", "max_1", {x}, {{"pool_size", {2, 2, 2}}});
  x = b.add("BatchNormalization", "bn_1", {x}, {{"epsilon", 1e-6}});
  x = b.add("Dropout", "drop_1", {x}, {{"rate", 0.2}});
  x = b.add("Conv3D", "conv_2", {x},
            {{"filters", 3}, {"kernel_size", {1, 2, 1}}, {"use_bias", false}, {"activation", "relu"}});
  x = b.add("MaxPooling3D", "max_2", {x}, {{"pool_size", {1, 4, 3}}});
  x = b.add("Conv3D", "conv_3", {x}, conv(4, {2, 1, 1}, "same"));
  x = b.add("MaxPooling3D", "max_3", {x}, {{"pool_size", {4, 1, 1}}});
  return b.finish({x});
}

/// As the one above in fine-tuning: normalisations that stay as they are, between layers that learn.
graph::Graph with_frozen_norms() {
  graph::Builder b("with_frozen_norms");
  const json frozen{{"epsilon", 1e-6}, {"trainable", false}};
  int x = b.input("latent", {3, 2, 3, 4});
  x = b.add("UpSampling3D", "upsample", {x}, {{"size", {3, 4, 2}}});
  x = b.add("Conv3D", "conv_1", {x}, conv(4, {3, 3, 3}));
  x = b.add("Activation", "relu_1", {x}, {{"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_1", {x}, frozen);
  x = b.add("ZeroPadding3D", "pad_2", {x}, {{"padding", {2, 2, 1}}});
  x = b.add("Conv3D", "conv_2", {x}, conv(6, {4, 4, 4}));
  x = b.add("LeakyReLU", "leaky_2", {x}, {{"negative_slope", 0.1}});
  x = b.add("BatchNormalization", "bn_2", {x}, {{"epsilon", 1e-6}});
  x = b.add("Conv3D", "conv_3", {x}, conv(3, {2, 2, 2}));
  x = b.add("BatchNormalization", "bn_3", {x}, {{"epsilon", 1e-6}, {"trainable", false}, {"scale", false}});
  x = b.add("Dropout", "drop_3", {x}, {{"rate", 0.2}});
  return b.finish({x});
}

struct Outcome {
  at::Tensor output, input_gradient;
  std::vector<at::Tensor> masks;
  std::vector<float> statistics;
  AlignedFloats gradient;
};

struct Setting {
  graph::Graph graph;
  int64_t events;
};

Outcome run(const Setting& setting, Kernels kernels, Mode mode = Mode::kTraining,
            const graph::GradientReady& ready = {}) {
  const Executable network(graph::fold_upsample(setting.graph), kernels);
  graph::Parameters parameters = graph::Parameters::of(setting.graph);
  graph::initialize(setting.graph, 7, 0, parameters);
  for (size_t i = 0; i < parameters.trainable.size(); ++i) parameters.trainable[i] += 0.01F * static_cast<float>(i % 7);
  for (size_t i = 0; i < parameters.statistics.size(); ++i)
    parameters.statistics[i] += 0.02F * static_cast<float>(i % 5);
  const Weights weights = make_weights(network.graph(), parameters, Gradients::kWanted);
  const graph::Shape& shape = setting.graph.nodes[0].output;
  std::vector<float> values(static_cast<size_t>(setting.events * graph::elements(shape)));
  fill_normal({.seed = 3}, values);
  at::Tensor input = at::from_blob(values.data(), {setting.events, shape[0], shape[1], shape[2], shape[3]}).clone();
  input.set_requires_grad(true);

  Outcome outcome;
  outcome.output = network.run(weights, {input},
                               {.mode = mode,
                                .dropout_key = {.seed = 5, .stream = Stream::kDropout},
                                .batch_statistics = mode == Mode::kTraining ? &outcome.statistics : nullptr,
                                .dropout_masks = &outcome.masks})[0];
  if (mode == Mode::kInference) return outcome;
  const at::Tensor factor = at::arange(outcome.output.numel(), at::kFloat).reshape(outcome.output.sizes()).cos();
  const at::Tensor loss = (outcome.output * factor).sum();
  outcome.input_gradient = torch::autograd::grad({loss}, {input}, {}, true)[0];
  outcome.gradient = flat_gradient(loss, weights, parameters.trainable_layout, ready);
  return outcome;
}

void expect_near(const at::Tensor& value, const at::Tensor& wanted, const char* what) {
  ASSERT_EQ(value.sizes(), wanted.sizes()) << what;
  EXPECT_LT(((value - wanted).abs().max() / wanted.abs().max()).item<double>(), 2e-5) << what;
}

template <class Floats>
at::Tensor as_tensor(const Floats& values) {
  return at::from_blob(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())}, at::kFloat);
}

class ConvChainOfBatch : public testing::TestWithParam<int64_t> {};

TEST_P(ConvChainOfBatch, AgreesWithLibTorchLayerByLayer) {
  for (const graph::Graph& graph : {discriminating(), generating(), with_largest_cells(), with_frozen_norms()}) {
    SCOPED_TRACE(graph.name);
    const Setting setting{graph, GetParam()};
    const Outcome chain = run(setting, Kernels::kLinac), layers = run(setting, Kernels::kAten);
    expect_near(chain.output, layers.output, "output");
    expect_near(chain.input_gradient, layers.input_gradient, "gradient of the input");
    expect_near(as_tensor(chain.gradient), as_tensor(layers.gradient), "gradient of the weights");
    expect_near(as_tensor(chain.statistics), as_tensor(layers.statistics), "batch statistics");
    ASSERT_EQ(chain.masks.size(), layers.masks.size());
    for (size_t i = 0; i < chain.masks.size(); ++i) EXPECT_TRUE(at::equal(chain.masks[i], layers.masks[i])) << i;
    expect_near(run(setting, Kernels::kLinac, Mode::kInference).output,
                run(setting, Kernels::kAten, Mode::kInference).output, "inference");
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ConvChainOfBatch, testing::Values(1, 3, 16, 37));

TEST(ConvChain, ThreadsChangeNoBit) {
  for (const graph::Graph& graph : {discriminating(), with_largest_cells()}) {
    const Setting setting{graph, 19};
    const auto by = [&](int threads) {
      Outcome outcome;
      std::thread([&] {
        at::set_num_threads(threads);
        outcome = run(setting, Kernels::kLinac);
      }).join();
      return outcome;
    };
    const Outcome one = by(1), two = by(2);
    EXPECT_TRUE(at::equal(one.output, two.output));
    EXPECT_EQ(one.gradient, two.gradient);
    EXPECT_EQ(one.statistics, two.statistics);
  }
}

TEST(ConvChain, GradientsAreToldStageByStage) {
  for (const Kernels kernels : {Kernels::kLinac, Kernels::kAten}) {
    for (const graph::Graph& graph : {generating(), discriminating()}) {
      SCOPED_TRACE(graph.name);
      const Setting setting{graph, 5};
      const AlignedFloats untold = run(setting, kernels).gradient;
      AlignedFloats told(untold.size(), 0.0F);
      std::vector<int64_t> offsets;
      const AlignedFloats whole =
          run(setting, kernels, Mode::kTraining, [&](int64_t offset, std::span<const float> values) {
            offsets.push_back(offset);
            std::copy(values.begin(), values.end(), told.begin() + offset);
          }).gradient;
      EXPECT_EQ(told, untold);
      EXPECT_EQ(whole, untold);
      EXPECT_EQ(offsets.size(), graph::Parameters::of(graph).trainable_layout.slots.size()) << "each one once";
      EXPECT_GT(offsets.front(), offsets.back()) << "the last stage first";
    }
  }
}

TEST(ConvChain, ABackwardPassCanBeBrokenOff) {
  const Setting setting{generating(), 5};
  int told = 0;
  const auto break_off = [&](int64_t, std::span<const float>) {
    if (++told == 2) throw std::runtime_error("enough");
  };
  EXPECT_THROW(run(setting, Kernels::kLinac, Mode::kTraining, break_off), std::runtime_error);
  EXPECT_EQ(told, 2) << "nothing is computed after that";
}

TEST(ConvChain, MaxPoolingStaysInTheChain) {
  const Executable network(with_largest_cells());
  ASSERT_EQ(network.graph().nodes.size(), 2U);
  const auto stages = network.chain(1)->report();
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0].layers, "conv_1 + leaky_1 + max_1 + bn_1 + drop_1");
  EXPECT_EQ(stages[0].output, (graph::Shape{6, 7, 5, 5}));
}

TEST(ConvChain, FrozenNormsStayInTheChain) {
  const Executable network(graph::fold_upsample(with_frozen_norms()));
  ASSERT_NE(network.chain(1), nullptr);
  ASSERT_EQ(network.graph().nodes.size(), 2U);
  EXPECT_EQ(network.chain(1)->report()[2].layers, "conv_3 + bn_3 + drop_3");
}

TEST(ConvChain, ReportsItsStages) {
  const Executable network(graph::fold_upsample(generating()));
  ASSERT_NE(network.chain(1), nullptr);
  const auto stages = network.chain(1)->report();
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0].method, "folded");
  EXPECT_EQ(stages[1].layers, "pad_2 + conv_2 + relu_2");
  EXPECT_GT(stages[1].flop, 0);
}

}  // namespace
}  // namespace linac::nn
