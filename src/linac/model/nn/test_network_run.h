#pragma once
// A network run forwards and backwards, for tests that compare kernels.

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <vector>

#include "linac/model/nn/executable.h"
#include "linac/model/nn/gradient.h"

namespace linac::nn {

struct Outcome {
  at::Tensor output, inference, input_gradient, gradient;
};

/// On random events, with weights that are all different; the gradients are those of a sum with other factors for each
/// number of the output.
inline Outcome run_network(const graph::Graph& graph, Kernels kernels, int64_t events) {
  const Executable network(graph, kernels);
  graph::Parameters parameters = graph::Parameters::of(graph);
  graph::initialize(graph, 7, 0, parameters);
  for (size_t i = 0; i < parameters.trainable.size(); ++i) parameters.trainable[i] += 0.01F * static_cast<float>(i % 7);
  const Weights weights = make_weights(network.graph(), parameters, Gradients::kWanted);
  std::vector<int64_t> sizes = graph.nodes[0].output;
  sizes.insert(sizes.begin(), events);
  at::Tensor input = at::empty(sizes);
  fill_normal({.seed = 3}, {input.mutable_data_ptr<float>(), static_cast<size_t>(input.numel())});
  Outcome outcome;
  {
    const torch::NoGradGuard no_gradient;
    outcome.inference = network.run(weights, {input}, {.mode = Mode::kInference})[0];
  }
  input.set_requires_grad(true);
  const at::Tensor output = network.run(weights, {input}, {.mode = Mode::kTraining})[0];
  const at::Tensor loss = (output * at::arange(output.numel(), at::kFloat).reshape(output.sizes()).cos()).sum();
  outcome.output = output.detach();
  outcome.input_gradient = torch::autograd::grad({loss}, {input}, {}, true)[0];
  const AlignedFloats flat = flat_gradient(loss, weights, parameters.trainable_layout);
  outcome.gradient = at::from_blob(const_cast<float*>(flat.data()), {static_cast<int64_t>(flat.size())}).clone();
  return outcome;
}

inline void expect_near(const at::Tensor& value, const at::Tensor& wanted, const char* what) {
  ASSERT_EQ(value.sizes(), wanted.sizes()) << what;
  EXPECT_LT(((value - wanted).abs().max() / wanted.abs().max()).item<double>(), 1e-5) << what;
}

}  // namespace linac::nn
