#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/model/nn/executable.h"

namespace linac::nn {
namespace {

constexpr int64_t kEvents = 7, kSteps = 5, kFeatures = 3;

/// x -> Masking -> BatchNormalization
graph::Graph masked_norm() {
  graph::Builder b("masked");
  const int x = b.add("Masking", "masking", {b.input("x", {kSteps, kFeatures})}, {{"mask_value", 0.0}});
  return b.finish({b.add("BatchNormalization", "norm", {x}, {{"epsilon", 1e-3}})});
}

graph::Graph plain_norm() {
  graph::Builder b("plain");
  return b.finish({b.add("BatchNormalization", "norm", {b.input("x", {kFeatures})}, {{"epsilon", 1e-3}})});
}

/// Far from zero, so that a step that counts wrongly would be seen; event 2 has no step.
at::Tensor make_input() {
  at::Tensor x =
      (at::arange(kEvents * kSteps * kFeatures, at::kFloat) * 0.9).sin().view({kEvents, kSteps, kFeatures}) + 4;
  for (int64_t event = 0; event < kEvents; ++event)
    x[event].narrow(0, (event + 3) % 5, kSteps - (event + 3) % 5).zero_();
  return x;
}

struct Outcome {
  at::Tensor output, input_gradient;
  std::vector<float> statistics;
};

Outcome run(const graph::Graph& graph, at::Tensor x, const at::Tensor& cotangent) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  graph::initialize(graph, 7, 0, parameters);
  for (size_t i = 0; i < parameters.trainable.size(); ++i) parameters.trainable[i] += 0.1F * static_cast<float>(i);
  const Executable network(graph);
  const Weights weights = make_weights(network.graph(), parameters, Gradients::kWanted);
  x.set_requires_grad(true);
  Outcome outcome;
  outcome.output = network.run(weights, {x}, {.mode = Mode::kTraining, .batch_statistics = &outcome.statistics})[0];
  outcome.input_gradient = torch::autograd::grad({(outcome.output * cotangent).sum()}, {x})[0];
  return outcome;
}

TEST(MaskedBatchNorm, IsThatOfTheStepsThatCount) {
  const at::Tensor x = make_input(), counts = at::any(x != 0, -1);
  const at::Tensor cotangent = at::arange(x.numel(), at::kFloat).view(x.sizes()).cos() * counts.unsqueeze(-1);
  const Outcome masked = run(masked_norm(), x.clone(), cotangent);
  const Outcome plain = run(plain_norm(), x.index({counts}).clone(), cotangent.index({counts}));
  ASSERT_GT(plain.output.size(0), 10);
  EXPECT_LT(at::abs(masked.output.index({counts}) - plain.output).max().item<double>(), 1e-5);
  EXPECT_LT(at::abs(masked.input_gradient.index({counts}) - plain.input_gradient).max().item<double>(), 1e-5);
  EXPECT_EQ(at::abs(masked.input_gradient.index({at::logical_not(counts)})).max().item<double>(), 0);
  ASSERT_EQ(masked.statistics.size(), plain.statistics.size());
  for (size_t i = 0; i < plain.statistics.size(); ++i)
    EXPECT_NEAR(masked.statistics[i], plain.statistics[i], 1e-5) << i;
}

TEST(MaskedBatchNorm, NothingThatCounts) {
  const Outcome outcome = run(masked_norm(), at::zeros({2, kSteps, kFeatures}), at::ones({2, kSteps, kFeatures}));
  EXPECT_TRUE(at::isfinite(outcome.output).all().item<bool>());
  EXPECT_TRUE(at::isfinite(outcome.input_gradient).all().item<bool>());
  for (const float value : outcome.statistics) EXPECT_EQ(value, 0);
}

TEST(MaskedBatchNorm, AMaskOfTooFewAxesIsRefused) {
  graph::Builder b("wide");
  int x = b.add("Masking", "masking", {b.input("x", {kSteps, 4})}, {{"mask_value", 0.0}});
  x = b.add("TimeDistributed", "split", {x},
            {{"layer", {{"name", "reshape"}, {"op", "Reshape"}, {"attributes", {{"target_shape", {2, 2}}}}}}});
  const graph::Graph graph = b.finish({b.add("BatchNormalization", "norm", {x})});
  try {
    run(graph, at::ones({2, kSteps, 4}), at::ones({2, kSteps, 2, 2}));
    FAIL() << "trained";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'norm' (BatchNormalization)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace linac::nn
