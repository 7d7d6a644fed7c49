#include "linac/models/threedgan/threedgan.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/graph/passes/fold_upsample.h"
#include "linac/models/executable_of.h"
#include "linac/models/threedgan/losses.h"
#include "linac/models/threedgan/networks.h"
#include "linac/nn/executable.h"
#include "linac/nn/explain.h"
#include "linac/nn/gradient.h"
#include "linac/nn/tensor_view.h"

namespace linac::models::threedgan {

// `*_graph` is the model as Keras knows it; the executables hold what the passes made of it (same weights in the same
// order).
struct ThreeDGan::Networks {
  graph::Graph generator_graph, discriminator_graph;
  nn::Executable generator, discriminator;
  Generator sampler;
};

namespace {

thread_local ThreeDGan::Trace* current_trace = nullptr;

// Lanes of a stream: each phase has room for the nodes of a network (nn adds the node's index).
constexpr uint32_t kLanesPerPhase = 256;

RngKey keyed(RngKey key, Stream stream, Phase phase) {
  key.stream = stream;
  key.lane = static_cast<uint32_t>(phase) * kLanesPerPhase;
  return key;
}

at::Tensor column(std::span<const float> values) {
  return nn::tensor_view(values, {static_cast<int64_t>(values.size()), 1});
}

at::Tensor images_tensor(std::span<const float> images) {
  return nn::tensor_view(
      images, {static_cast<int64_t>(images.size()) / (kCellsX * kCellsY * kCellsZ), kCellsX, kCellsY, kCellsZ, 1});
}

std::vector<float> copied(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
  return {plain.const_data_ptr<float>(), plain.const_data_ptr<float>() + plain.numel()};
}

// Outputs in inference mode, without autograd.
std::vector<at::Tensor> infer(const nn::Executable& network, const graph::Parameters& parameters,
                              const at::Tensor& input) {
  const at::NoGradGuard no_gradient;
  return network.run(nn::make_weights(network.graph(), parameters, nn::Gradients::kNone, network.device()), {input},
                     {});
}

bool every_image_empty(const at::Tensor& images) {
  return (images.detach().reshape({images.size(0), -1}).amax(1) <= 0).all().item<bool>();
}

std::vector<float> values_of(const std::array<at::Tensor, kLossParts>& parts) {
  std::vector<float> values;
  for (const at::Tensor& part : parts) values.push_back(part.item<float>());
  return values;
}

void record_step(const std::vector<float>& label, std::span<const float> latents, const at::Tensor& image,
                 const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& masks) {
  if (current_trace == nullptr) return;
  current_trace->label = label;
  current_trace->latents.assign(latents.begin(), latents.end());
  current_trace->image = copied(image);
  for (const at::Tensor& output : outputs) current_trace->outputs.push_back(copied(output));
  for (const at::Tensor& mask : masks) current_trace->dropout_masks.push_back(copied(mask));
}

}  // namespace

ThreeDGan::ThreeDGan(int64_t latent, double power, const Numerics& numerics) {
  graph::Graph made_generator = threedgan::generator(latent), made_discriminator = threedgan::discriminator(power);
  nn::Executable generator = executable_of(graph::fold_upsample(made_generator), numerics),
                 discriminator = executable_of(made_discriminator, numerics);
  Generator sampler(made_generator, numerics);
  networks_.reset(new Networks{std::move(made_generator), std::move(made_discriminator), std::move(generator),
                               std::move(discriminator), std::move(sampler)});
}

ThreeDGan::~ThreeDGan() = default;

const graph::Graph& ThreeDGan::generator() const {
  return networks_->generator_graph;
}
const graph::Graph& ThreeDGan::discriminator() const {
  return networks_->discriminator_graph;
}

std::string ThreeDGan::explain() const {
  return fmt::format("{}\n{}", nn::explain(generator(), networks_->generator),
                     nn::explain(discriminator(), networks_->discriminator));
}

graph::Parameters ThreeDGan::initial_generator(uint64_t seed) const {
  graph::Parameters parameters = graph::Parameters::of(generator());
  graph::initialize(generator(), seed, 0, parameters);
  return parameters;
}

graph::Parameters ThreeDGan::initial_discriminator(uint64_t seed) const {
  graph::Parameters parameters = graph::Parameters::of(discriminator());
  graph::initialize(discriminator(), seed, 1, parameters);
  return parameters;
}

const Generator& ThreeDGan::sampler() const {
  return networks_->sampler;
}

std::vector<float> ThreeDGan::fake_latents(const Batch& batch, const RngKey& key) const {
  return sampler().latents(batch.energy, batch.angle, keyed(key, Stream::kNoise, Phase::kFakeDiscriminator));
}

std::vector<float> ThreeDGan::test_latents(const Batch& batch, const RngKey& key) const {
  return sampler().latents(batch.energy, batch.angle, keyed(key, Stream::kNoise, Phase::kTest));
}

std::vector<float> ThreeDGan::labels(size_t n, float label, double flip, const RngKey& key) {
  std::vector<float> result(n);
  fill_uniform(key, result);
  for (float& value : result) value = value < static_cast<float>(flip) ? 1 - label : label;
  return result;
}

Contribution ThreeDGan::discriminator_step(const graph::Parameters& discriminator, const Batch& batch,
                                           std::span<const float> images, Phase phase,
                                           const StepOptions& options) const {
  const float truth = phase == Phase::kRealDiscriminator ? 1.0F : 0.0F;
  const std::vector<float> label =
      labels(batch.size(), truth, options.flip, keyed(options.key, Stream::kLabelFlip, phase));
  const nn::Executable& network = networks_->discriminator;
  const nn::Weights weights =
      nn::make_weights(network.graph(), discriminator, nn::Gradients::kWanted, network.device());
  const at::Tensor image = images_tensor(images);

  Contribution contribution;
  std::vector<at::Tensor> masks;
  const auto outputs = network.run(weights, {image},
                                   {.mode = nn::Mode::kTraining,
                                    .dropout_key = keyed(options.key, Stream::kDropout, phase),
                                    .batch_statistics = &contribution.statistics,
                                    .dropout_masks = current_trace != nullptr ? &masks : nullptr});
  const auto parts = losses(outputs, {column(label), column(batch.energy), column(batch.angle), column(batch.ecal)},
                            options.event_weight);
  contribution.losses = values_of(parts);
  contribution.gradient = nn::flat_gradient(parts[kTotal], weights, discriminator.trainable_layout);
  contribution.all_empty = phase == Phase::kFakeDiscriminator && every_image_empty(image);
  contribution.judge();
  record_step(label, {}, image, outputs, masks);
  return contribution;
}

Contribution ThreeDGan::generator_step(const graph::Parameters& generator, const graph::Parameters& discriminator,
                                       const Batch& batch, Phase phase, const StepOptions& options) const {
  const std::vector<float> label(batch.size(), 1.0F);
  const std::vector<float> latent =
      sampler().latents(batch.energy, batch.angle, keyed(options.key, Stream::kNoise, phase));
  const nn::Weights generator_weights =
      nn::make_weights(networks_->generator.graph(), generator, nn::Gradients::kWanted, networks_->generator.device());
  // The discriminator's weights want no gradient here: autograd then leaves that work out.
  const nn::Weights discriminator_weights = nn::make_weights(networks_->discriminator.graph(), discriminator,
                                                             nn::Gradients::kNone, networks_->discriminator.device());

  Contribution contribution;
  const at::Tensor input =
      nn::tensor_view(latent, {static_cast<int64_t>(batch.size()), static_cast<int64_t>(latent.size() / batch.size())});
  const at::Tensor image = networks_->generator.run(
      generator_weights, {input},
      {.mode = nn::Mode::kTraining, .dropout_key = {}, .batch_statistics = &contribution.statistics})[0];
  std::vector<at::Tensor> masks;
  const auto outputs = networks_->discriminator.run(discriminator_weights, {image},
                                                    {.mode = nn::Mode::kTraining,
                                                     .dropout_key = keyed(options.key, Stream::kDropout, phase),
                                                     .dropout_masks = current_trace != nullptr ? &masks : nullptr});
  const auto parts = losses(outputs, {column(label), column(batch.energy), column(batch.angle), column(batch.ecal)},
                            options.event_weight);
  contribution.losses = values_of(parts);
  contribution.gradient = nn::flat_gradient(parts[kTotal], generator_weights, generator.trainable_layout);
  contribution.all_empty = every_image_empty(image);
  contribution.judge();
  record_step(label, latent, image, outputs, masks);
  return contribution;
}

std::vector<float> ThreeDGan::test_losses(const graph::Parameters& discriminator, const Batch& batch,
                                          std::span<const float> images, float label, double event_weight) const {
  const auto outputs = infer(networks_->discriminator, discriminator, images_tensor(images));
  const at::Tensor labels = at::full({static_cast<int64_t>(batch.size()), 1}, label);
  return values_of(
      losses(outputs, {labels, column(batch.energy), column(batch.angle), column(batch.ecal)}, event_weight));
}

std::vector<std::vector<float>> ThreeDGan::heads(const graph::Parameters& discriminator,
                                                 std::span<const float> images) const {
  std::vector<std::vector<float>> values;
  for (const at::Tensor& output : infer(networks_->discriminator, discriminator, images_tensor(images)))
    values.push_back(copied(output));
  return values;
}

void ThreeDGan::record(Trace* trace) {
  current_trace = trace;
}

}  // namespace linac::models::threedgan
