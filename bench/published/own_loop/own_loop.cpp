// The network with a loop of its own: the class says what a step is, its loss and what is measured.

#include <linac/plugin/plugin.h>

#include "network.h"

namespace {

class OwnLoop : public linac::plugin::Loop {
 public:
  explicit OwnLoop(const linac::plugin::Options&) : network_(high_level_network()) {}
  std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>> networks() const override {
    return {{"network", network_.ptr()}};
  }
  std::vector<linac::plugin::Column> columns() const override {
    return {{"HLF_input", {kFeatures}}, {"encoded_label", {kClasses}}};
  }
  std::vector<linac::plugin::Update> updates() const override { return {{"step", "network", {"loss"}}}; }
  std::vector<torch::Tensor> losses(const linac::plugin::Update&, const linac::plugin::Batch& batch) override {
    return {loss_of(network_->forward(batch.columns[0]), batch.columns[1])};
  }
  std::vector<std::string> measures() const override { return {"loss", "accuracy"}; }
  std::vector<torch::Tensor> test(const linac::plugin::Batch& batch) override {
    const torch::Tensor said = network_->forward(batch.columns[0]);
    return {loss_of(said, batch.columns[1]), said.argmax(1).eq(batch.columns[1].argmax(1)).to(torch::kFloat).mean()};
  }

 private:
  static constexpr double kEpsilon = 1e-7;  // as Keras cuts probabilities

  /// Keras's categorical cross-entropy.
  static torch::Tensor loss_of(const torch::Tensor& said, const torch::Tensor& wanted) {
    const torch::Tensor share = said / said.sum(1, /*keepdim=*/true);
    return -(wanted * share.clamp(kEpsilon, 1 - kEpsilon).log()).sum(1).mean();
  }

  torch::nn::Sequential network_;
};

}  // namespace

LINAC_LOOP(OwnLoop)
