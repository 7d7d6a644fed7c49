#include "linac/model/models/threedgan/generator.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "linac/model/graph/passes/fold_upsample.h"
#include "linac/model/models/runnable.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::models::threedgan {

namespace {

int64_t latent_of(const graph::Graph& graph) {
  return graph.nodes[static_cast<size_t>(graph.inputs.at(0))].output.at(0);
}

}  // namespace

struct Generator::Network {
  Runnable runnable;
  int64_t latent;
};

Generator::Generator(const graph::Graph& graph, const Numerics& numerics)
    : network_(new Network{Runnable(graph::fold_upsample(graph), numerics), latent_of(graph)}) {}
Generator::Generator(const ForeignModel& model) : network_(new Network{Runnable(model), latent_of(model.graph())}) {}

Generator::Generator(Generator&&) noexcept = default;
Generator::~Generator() = default;

std::vector<float> Generator::latents(std::span<const float> energy, std::span<const float> angle,
                                      const RngKey& key) const {
  const auto noise_size = static_cast<size_t>(network_->latent - 2);
  std::vector<float> noise(energy.size() * noise_size);
  fill_normal(key, noise);
  std::vector<float> result;
  result.reserve(energy.size() * static_cast<size_t>(network_->latent));
  for (size_t event = 0; event < energy.size(); ++event) {
    result.push_back(energy[event]);
    result.push_back(angle[event]);
    const auto first = noise.begin() + static_cast<int64_t>(event * noise_size);
    result.insert(result.end(), first, first + static_cast<int64_t>(noise_size));
  }
  return result;
}

std::vector<float> Generator::run(const graph::Parameters& parameters, std::span<const float> latents) const {
  const at::NoGradGuard no_gradient;
  const nn::Weights weights = network_->runnable.weights(parameters, nn::Gradients::kNone);
  const at::Tensor input =
      nn::tensor_view(latents, {static_cast<int64_t>(latents.size()) / network_->latent, network_->latent});
  const at::Tensor image = network_->runnable.run(weights, {input}, {})[0].to(at::kCPU).contiguous();
  return {image.const_data_ptr<float>(), image.const_data_ptr<float>() + image.numel()};
}

}  // namespace linac::models::threedgan
