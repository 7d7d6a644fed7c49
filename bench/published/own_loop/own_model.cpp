// The network for linac's loop: the job names the loss and the metrics.

#include <linac/plugin/plugin.h>

#include "network.h"

namespace {

class OwnModel : public linac::plugin::Model {
 public:
  explicit OwnModel(const linac::plugin::Options&) : network_(register_module("network", high_level_network())) {}
  std::vector<linac::plugin::Column> inputs() const override { return {{"HLF_input", {kFeatures}}}; }
  std::vector<torch::Tensor> forward(const std::vector<torch::Tensor>& inputs) override {
    return {network_->forward(inputs[0])};
  }

 private:
  torch::nn::Sequential network_;
};

}  // namespace

LINAC_MODEL(OwnModel)
