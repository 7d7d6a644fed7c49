#pragma once
// The published classifier of high-level features (Nguyen et al., Comput. Softw. Big Sci. 3 (2019) 12): 14 features,
// three layers, three classes.

#include <torch/torch.h>

constexpr int64_t kFeatures = 14, kClasses = 3;

/// Its weights are the same in every instance, so that a model and a loop begin alike.
inline torch::nn::Sequential high_level_network() {
  torch::nn::Sequential network(torch::nn::Linear(kFeatures, 50), torch::nn::ReLU(), torch::nn::Linear(50, 20),
                                torch::nn::ReLU(), torch::nn::Linear(20, 10), torch::nn::ReLU(),
                                torch::nn::Linear(10, kClasses), torch::nn::Softmax(1));
  const torch::NoGradGuard no_gradient;
  at::Generator numbers = at::detail::createCPUGenerator(/*seed=*/7);
  for (torch::Tensor& weights : network->parameters()) weights.uniform_(-0.2, 0.2, numbers);
  return network;
}
