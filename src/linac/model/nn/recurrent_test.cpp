#include "linac/model/nn/recurrent.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/model/nn/dropout.h"
#include "linac/model/nn/executable.h"
#include "linac/model/nn/gradient.h"

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

/// An encoder whose states begin a decoder of the same sequence; its mask is perhaps given by name.
graph::Graph decoder(const std::string& op, const json& decoding, bool named = false) {
  graph::Builder b(op);
  const int x = b.input("x", {kSteps, kFeatures}), masked = b.add("Masking", "masking", {x}, {{"mask_value", 0.0}}),
            mask = b.add("StepMask", "mask", {x}, {{"value", 0.0}}),
            encoder = b.add(op, "encoder", {masked}, settings(0, 0, {{"return_state", true}}));
  std::vector<int> inputs{masked};
  for (int i = 1; i <= (op == "LSTM" ? 2 : 1); ++i)
    inputs.push_back(b.add(graph::kPart, "state_" + std::to_string(i), {encoder}, {{"index", i}}));
  graph::Graph graph = b.finish({b.add(op, "decoder", inputs, decoding)});
  if (named) graph.nodes.back().mask = mask;
  return graph;
}

TEST(States, GradientsAreDifferences) {
  for (const char* op : {"SimpleRNN", "GRU", "LSTM"}) {
    SCOPED_TRACE(op);
    const graph::Graph graph = decoder(op, settings(0, 0));
    const graph::Parameters parameters = parameters_of(graph);
    const Outcome here = run(graph, parameters);
    double along = 0;
    for (size_t i = 0; i < here.gradient.size(); ++i)
      along += double{here.gradient[i]} * std::sin(static_cast<double>(i));
    constexpr float kStep = 0x1p-9F;
    const auto loss_at = [&](float step) {
      graph::Parameters moved = parameters;
      for (size_t i = 0; i < moved.trainable.size(); ++i) moved.trainable[i] += step * std::sin(static_cast<float>(i));
      return run(graph, moved).loss;
    };
    EXPECT_NEAR((loss_at(kStep) - loss_at(-kStep)) / (2 * double{kStep}), along, 2e-3 * (1 + std::abs(along)));
  }
}

// Keras 2 follows the mask of a layer that has initial states, Keras 3 only where it is given by name.
TEST(States, MasksCountAsTheVersionSays) {
  const at::Tensor keras3 = run(decoder("LSTM", settings(0, 0))).output,
                   named = run(decoder("LSTM", settings(0, 0), true)).output,
                   keras2 = run(decoder("LSTM", settings(0, 0, {{"mask_with_states", true}}))).output;
  EXPECT_TRUE(at::equal(keras2, named));
  EXPECT_FALSE(at::equal(keras3, named));
}

// A masked step at the beginning gives zeros, whatever the layer begins with; without a step that counts the state is
// what it was.
TEST(States, StayWhereNothingCounts) {
  graph::Builder b("empty");
  const int x = b.input("x", {kSteps, kFeatures}), h = b.input("h", {4}),
            mask = b.add("StepMask", "mask", {x}, {{"value", 0.0}}),
            gru = b.add("GRU", "gru", {x, h}, settings(0, 0, {{"return_state", true}, {"return_sequences", true}})),
            state = b.add(graph::kPart, "state", {gru}, {{"index", 1}});
  graph::Graph graph = b.finish({gru, state});
  graph.nodes[static_cast<size_t>(gru)].mask = mask;
  const Executable network(graph);
  const graph::Parameters parameters = parameters_of(graph);
  const Weights weights = make_weights(network.graph(), parameters, Gradients::kNone);
  const at::Tensor begin = at::arange(8, at::kFloat).view({2, 4});
  const auto outputs = network.run(weights, {at::zeros({2, kSteps, kFeatures}), begin}, {});
  EXPECT_TRUE(at::equal(outputs[0], at::zeros({2, kSteps, 4})));
  EXPECT_TRUE(at::equal(outputs[1], begin));
}

TEST(States, OfTheKernelsAreThoseOfTheSteps) {
  for (const bool sequences : {false, true}) {
    for (const bool zeroed : {false, true}) {
      graph::Builder b("states");
      const int x = b.add("Masking", "masking", {b.input("x", {kSteps, kFeatures})}, {{"mask_value", 0.0}});
      const json more{{"return_state", true}, {"return_sequences", sequences}, {"zero_output_for_mask", zeroed}};
      const int gru = b.add("GRU", "gru", {x}, settings(0, 0, more));
      const graph::Graph graph = b.finish({b.add(graph::kPart, "state", {gru}, {{"index", 1}})});
      const Outcome kernels = run(graph), steps = run(graph, kKey, Kernels::kAten);
      EXPECT_LT(at::abs(kernels.output - steps.output).max().item<double>(), 1e-6);
      EXPECT_LT(at::abs(kernels.input_gradient - steps.input_gradient).max().item<double>(), 1e-5);
    }
  }
}

}  // namespace
}  // namespace linac::nn
