#include "linac/nn/recurrent.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "linac/base/error.h"
#include "linac/nn/dropout.h"
#include "linac/nn/executable.h"
#include "linac/nn/gradient.h"

namespace linac::nn {
namespace {

using nlohmann::json;

constexpr int64_t kEvents = 9, kSteps = 6, kFeatures = 5;
const RngKey kKey{.seed = 5, .stream = Stream::kDropout, .lane = 40, .epoch = 1, .step = 2, .replica = 3};

json settings(double dropout, double state_dropout, json more = json::object()) {
  more.update({{"units", 4}, {"dropout", dropout}, {"recurrent_dropout", state_dropout}});
  return more;
}

graph::Graph one_layer(const std::string& op, const json& of_layer) {
  graph::Builder b(op);
  const int x = b.add("Masking", "masking", {b.input("x", {kSteps, kFeatures})}, {{"mask_value", 0.0}});
  return b.finish({b.add(op, "layer", {x}, of_layer)});
}

graph::Graph attention(double dropout) {
  graph::Builder b("attention");
  const int x = b.input("x", {kSteps, kFeatures});
  return b.finish(
      {b.add("MultiHeadAttention", "layer", {x, x}, {{"num_heads", 2}, {"key_dim", 3}, {"dropout", dropout}})});
}

at::Tensor make_input() {
  at::Tensor x = (at::arange(kEvents * kSteps * kFeatures, at::kFloat) * 0.7).sin().view({kEvents, kSteps, kFeatures});
  for (int64_t event = 0; event < kEvents; ++event) x[event].narrow(0, 2 + event % 4, 4 - event % 4).zero_();
  return x;
}

struct Outcome {
  at::Tensor output, input_gradient;
  std::vector<at::Tensor> masks;
  double loss = 0;
  AlignedFloats gradient;
};

graph::Parameters parameters_of(const graph::Graph& graph) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  graph::initialize(graph, 7, 0, parameters);
  return parameters;
}

Outcome run(const graph::Graph& graph, const graph::Parameters& parameters, const RngKey& key = kKey,
            Kernels kernels = Kernels::kLinac, Precision precision = Precision::kFloat, at::Tensor x = make_input()) {
  const Executable network(graph, kernels, precision);
  const Weights weights = make_weights(network.graph(), parameters, Gradients::kWanted);
  x.set_requires_grad(true);
  Outcome outcome;
  outcome.output =
      network.run(weights, {x}, {.mode = Mode::kTraining, .dropout_key = key, .dropout_masks = &outcome.masks})[0];
  const at::Tensor factor = at::arange(outcome.output.numel(), at::kFloat).view(outcome.output.sizes()).cos();
  const at::Tensor loss = (outcome.output * factor).sum();
  outcome.loss = (outcome.output.detach().to(at::kDouble) * factor).sum().item<double>();
  outcome.input_gradient = torch::autograd::grad({loss}, {x}, {}, true)[0];
  outcome.gradient = flat_gradient(loss, weights, parameters.trainable_layout, {});
  return outcome;
}

Outcome run(const graph::Graph& graph, const RngKey& key = kKey, Kernels kernels = Kernels::kLinac,
            Precision precision = Precision::kFloat) {
  return run(graph, parameters_of(graph), key, kernels, precision);
}

std::vector<graph::Graph> dropping_layers() {
  return {one_layer("SimpleRNN", settings(0.3, 0.4)),
          one_layer("GRU", settings(0.3, 0.0)),
          one_layer("GRU", settings(0.3, 0.4)),
          one_layer("GRU", settings(0.0, 0.4, {{"reset_after", false}, {"go_backwards", true}})),
          one_layer("LSTM", settings(0.3, 0.4, {{"return_sequences", true}})),
          attention(0.4)};
}

TEST(Dropped, MultipliersKeepTheMean) {
  for (const double rate : {0.1, 0.5, 0.8}) {
    const at::Tensor kept = draw_kept(kKey, rate, 400, 501, 3);
    EXPECT_EQ(at::logical_or(kept == 0, at::abs(kept - 1 / (1 - rate)) < 1e-6).all().item<bool>(), true);
    // Five standard deviations of a mean over 200,400 numbers, and of one over 400.
    const double one = std::sqrt(rate / (1 - rate));
    EXPECT_NEAR(kept.mean().item<double>(), 1, 5 * one / std::sqrt(200400.0));
    EXPECT_LT(at::abs(kept.mean(0) - 1).max().item<double>(), 5 * one / 20);
    // Neighbours, in an event and between events, know nothing of each other.
    const at::Tensor d = kept - 1;
    EXPECT_LT(std::abs((d.narrow(1, 0, 500) * d.narrow(1, 1, 500)).mean().item<double>()), 0.02 * one * one);
    EXPECT_LT(std::abs((d.narrow(0, 0, 399) * d.narrow(0, 1, 399)).mean().item<double>()), 0.02 * one * one);
  }
}

TEST(Dropped, DrawsAreKeyed) {
  const at::Tensor kept = draw_kept(kKey, 0.5, 8, 20);
  EXPECT_TRUE(at::equal(kept, draw_kept(kKey, 0.5, 8, 20)));
  EXPECT_TRUE(at::equal(kept.narrow(0, 0, 3), draw_kept(kKey, 0.5, 3, 20))) << "an event does not see those behind it";
  EXPECT_FALSE(at::equal(kept, draw_kept(kKey, 0.5, 8, 20, 1))) << "draws differ";
  for (uint32_t RngKey::*const part : {&RngKey::lane, &RngKey::epoch, &RngKey::step, &RngKey::replica}) {
    RngKey other = kKey;
    ++(other.*part);
    EXPECT_FALSE(at::equal(kept, draw_kept(other, 0.5, 8, 20)));
  }
}

TEST(Dropped, LayersFollowTheirKey) {
  for (const graph::Graph& graph : dropping_layers()) {
    SCOPED_TRACE(graph.name);
    const Outcome first = run(graph), again = run(graph);
    EXPECT_TRUE(at::equal(first.output, again.output));
    EXPECT_EQ(first.gradient, again.gradient);
    ASSERT_FALSE(first.masks.empty());
    RngKey other = kKey;
    ++other.replica;
    const Outcome differing = run(graph, other);
    EXPECT_FALSE(at::equal(first.output, differing.output));
    for (size_t i = 0; i < first.masks.size(); ++i) {
      EXPECT_FALSE(at::equal(first.masks[i], differing.masks[i])) << i;
      for (size_t j = 0; j < i; ++j) EXPECT_FALSE(at::equal(first.masks[i], first.masks[j])) << i << " " << j;
    }
  }
}

// Of the whole loss, along a direction in the space of the weights, and of the input.
TEST(Dropped, GradientsAreDifferences) {
  for (const graph::Graph& graph : dropping_layers()) {
    SCOPED_TRACE(graph.name);
    const graph::Parameters parameters = parameters_of(graph);
    const Outcome here = run(graph, parameters);
    const auto loss_at = [&](float weights_step, float x_step) {
      graph::Parameters moved = parameters;
      for (size_t i = 0; i < moved.trainable.size(); ++i)
        moved.trainable[i] += weights_step * std::sin(static_cast<float>(i));
      const at::Tensor x = make_input();
      const at::Tensor direction = at::arange(x.numel(), at::kFloat).view(x.sizes()).sin() * (x != 0);
      return run(graph, moved, kKey, Kernels::kLinac, Precision::kFloat, x + x_step * direction).loss;
    };
    double along_weights = 0;
    for (size_t i = 0; i < here.gradient.size(); ++i)
      along_weights += double{here.gradient[i]} * std::sin(static_cast<double>(i));
    const at::Tensor x = make_input();
    const double along_x =
        (here.input_gradient * at::arange(x.numel(), at::kFloat).view(x.sizes()).sin() * (x != 0)).sum().item<double>();
    constexpr float kStep = 0x1p-9F;
    const auto slope = [](double above, double below) { return (above - below) / (2 * double{kStep}); };
    EXPECT_NEAR(slope(loss_at(kStep, 0), loss_at(-kStep, 0)), along_weights, 2e-3 * (1 + std::abs(along_weights)));
    EXPECT_NEAR(slope(loss_at(0, kStep), loss_at(0, -kStep)), along_x, 2e-3 * (1 + std::abs(along_x)));
  }
}

void expect_like_steps(const graph::Graph& graph, size_t masks) {
  const Outcome kernels = run(graph), steps = run(graph, kKey, Kernels::kAten);
  ASSERT_EQ(kernels.masks.size(), masks);
  ASSERT_EQ(steps.masks.size(), masks);
  for (size_t i = 0; i < masks; ++i) EXPECT_TRUE(at::equal(kernels.masks[i], steps.masks[i]));
  EXPECT_LT(at::abs(kernels.output - steps.output).max().item<double>(), 1e-6);
  EXPECT_LT(at::abs(kernels.input_gradient - steps.input_gradient).max().item<double>(), 1e-5);
  ASSERT_EQ(kernels.gradient.size(), steps.gradient.size());
  for (size_t i = 0; i < kernels.gradient.size(); ++i) EXPECT_NEAR(kernels.gradient[i], steps.gradient[i], 2e-5) << i;
}

TEST(Dropped, KernelsComputeTheSame) {
  for (const json& more : {json::object(), json{{"return_sequences", true}}, json{{"go_backwards", true}},
                           json{{"use_bias", false}}, json{{"reset_after", false}}}) {
    for (const std::string op : {"GRU", "LSTM"}) {
      if (op == "LSTM" && more.contains("reset_after")) continue;
      SCOPED_TRACE(op + more.dump());
      const size_t gates = op == "LSTM" ? 4 : 3;
      expect_like_steps(one_layer(op, settings(0.3, 0.0, more)), 1);
      expect_like_steps(one_layer(op, settings(0.0, 0.4, more)), gates);
      expect_like_steps(one_layer(op, settings(0.3, 0.4, more)), 2 * gates);
    }
  }
}

TEST(RecurrentActivations, KernelsComputeTheSame) {
  for (const char* state : {"tanh", "relu", "linear", "sigmoid", "elu"}) {
    for (const char* gates : {"sigmoid", "hard_sigmoid", "keras2_hard_sigmoid", "tanh"}) {
      for (const char* op : {"GRU", "LSTM"}) {
        SCOPED_TRACE(std::string(op) + " " + state + " " + gates);
        expect_like_steps(one_layer(op, settings(0.0, 0.0, {{"activation", state}, {"recurrent_activation", gates}})),
                          0);
      }
    }
  }
}

TEST(Dropped, InferenceDropsNothing) {
  for (const graph::Graph& graph : dropping_layers()) {
    const Executable network(graph);
    const graph::Parameters parameters = parameters_of(graph);
    const Weights weights = make_weights(network.graph(), parameters, Gradients::kNone);
    std::vector<at::Tensor> masks;
    network.run(weights, {make_input()}, {.dropout_key = kKey, .dropout_masks = &masks});
    EXPECT_TRUE(masks.empty());
  }
}

TEST(Dropped, ARateThatLeavesNothingIsRefused) {
  const graph::Graph graph = one_layer("GRU", settings(0.0, 1.0));
  try {
    run(graph);
    FAIL() << "trained";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("recurrent_dropout = 1"), std::string::npos) << error.what();
  }
}

TEST(RecurrentPrecision, RoundsWhatIsKeptAlone) {
  for (const char* op : {"GRU", "LSTM"}) {
    const graph::Graph graph = one_layer(op, settings(0.0, 0.0));
    const Outcome exact = run(graph), rounded = run(graph, kKey, Kernels::kLinac, Precision::kBfloat16);
    EXPECT_TRUE(at::equal(exact.output, rounded.output));
    EXPECT_NE(exact.gradient, rounded.gradient);
    EXPECT_LT(at::abs(exact.input_gradient - rounded.input_gradient).max().item<double>(), 0.01);
  }
}

}  // namespace
}  // namespace linac::nn
