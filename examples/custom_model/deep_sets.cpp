// A model in C++: which process made the collision? Deep sets (Zaheer et al., arXiv:1703.06114; for particles Komiske,
// Metodiev and Thaler, arXiv:1810.05165): one network reads each particle, the mean over them does not know their
// order.

#include <linac/plugin/plugin.h>
#include <torch/torch.h>

namespace {

using torch::Tensor;

class DeepSets : public linac::plugin::Model {
 public:
  explicit DeepSets(const linac::plugin::Options& options)
      : particles_(options.integer("particles", 801)), features_(options.integer("features", 19)) {
    const int64_t width = options.integer("width", 32);
    const double dropout = options.number("dropout", 0.1);
    each_ = register_module("each", torch::nn::Sequential(torch::nn::Linear(features_, width), torch::nn::ReLU(),
                                                          torch::nn::Linear(width, width), torch::nn::ReLU()));
    event_ = register_module(
        "event", torch::nn::Sequential(torch::nn::Linear(width + kHighLevel, width), torch::nn::BatchNorm1d(width),
                                       torch::nn::ReLU(), torch::nn::Dropout(dropout), torch::nn::Linear(width, 3)));
  }

  std::vector<linac::plugin::Column> inputs() const override {
    return {{"GRU_input", {particles_, features_}}, {"HLF_input", {kHighLevel}}};
  }

  std::vector<Tensor> forward(const std::vector<Tensor>& inputs) override {
    // Only as many rows as the longest event of the batch has: what is behind is padding in all of them.
    const Tensor real = (inputs[0] != 0).any(-1);  // (events, particles)
    const int64_t longest = std::max<int64_t>(1, real.sum(1).max().item<int64_t>());
    const Tensor particles = inputs[0].narrow(1, 0, longest), weight = real.narrow(1, 0, longest).to(torch::kFloat);
    const Tensor sum = (each_->forward(particles) * weight.unsqueeze(-1)).sum(1);
    const Tensor mean = sum / weight.sum(1, /*keepdim=*/true).clamp_min(1);
    return {torch::softmax(event_->forward(torch::cat({mean, inputs[1]}, 1)), 1)};
  }

 private:
  static constexpr int64_t kHighLevel = 14;
  int64_t particles_, features_;
  torch::nn::Sequential each_{nullptr}, event_{nullptr};
};

}  // namespace

LINAC_MODEL(DeepSets)
