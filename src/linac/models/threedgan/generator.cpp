#include "linac/models/threedgan/generator.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "linac/graph/passes/fold_upsample.h"
#include "linac/models/executable_of.h"
#include "linac/nn/executable.h"
#include "linac/nn/tensor_view.h"

namespace linac::models::threedgan {

struct Generator::Network {
  nn::Executable executable;
  int64_t latent;
};

Generator::Generator(const graph::Graph& graph, const Numerics& numerics)
    : network_(new Network{executable_of(graph::fold_upsample(graph), numerics),
                           graph.nodes[static_cast<size_t>(graph.inputs.at(0))].output.at(0)}) {}

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
  const nn::Weights weights =
      nn::make_weights(network_->executable.graph(), parameters, nn::Gradients::kNone, network_->executable.device());
  const at::Tensor input =
      nn::tensor_view(latents, {static_cast<int64_t>(latents.size()) / network_->latent, network_->latent});
  const at::Tensor image = network_->executable.run(weights, {input}, {})[0].to(at::kCPU).contiguous();
  return {image.const_data_ptr<float>(), image.const_data_ptr<float>() + image.numel()};
}

}  // namespace linac::models::threedgan
