#include "linac/model/models/threedgan/threedgan.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/graph/passes/fold_upsample.h"
#include "linac/model/models/runnable.h"
#include "linac/model/models/threedgan/likeness.h"
#include "linac/model/models/threedgan/losses.h"
#include "linac/model/models/threedgan/networks.h"
#include "linac/model/nn/gradient.h"
#include "linac/model/nn/shower_heads.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::models::threedgan {
namespace {

at::Tensor column(std::span<const float> values) {
  return nn::tensor_view(values, {static_cast<int64_t>(values.size()), 1});
}

}  // namespace

// The architecture is the model as Keras knows it; what runs is what the passes made of it (same weights in the same
// order).
struct ThreeDGan::Networks {
  Architecture architecture;
  Runnable generator, discriminator;
  Generator sampler;

  at::Tensor images(std::span<const float> values) const {
    const graph::Shape& image = architecture.image();
    return nn::tensor_view(values,
                           nn::batch_shape(static_cast<int64_t>(values.size()) / graph::elements(image), image));
  }

  /// The discriminator's four outputs; what foreign code does not say itself is measured in the image.
  std::vector<at::Tensor> judge(const nn::Weights& weights, const at::Tensor& images,
                                const nn::RunOptions& options) const {
    auto outputs = discriminator.run(weights, {images}, options);
    if (!architecture.foreign_discriminator) return outputs;
    const at::Tensor cells = at::pow(images.squeeze(-1), 1 / architecture.power);
    outputs.push_back(nn::shower_angle(cells));
    outputs.push_back(nn::shower_sum(cells));
    return outputs;
  }

  /// The losses that are the generator's alone, weighted; their values go to `values`, in the order of
  /// generator_losses().
  at::Tensor likeness(const at::Tensor& generated, const Batch& batch, double event_weight,
                      std::vector<float>& values) const {
    const auto& weights = architecture.loss_weights;
    const auto beside = [&](const at::Tensor& tensor) { return tensor.to(generated.device()); };
    const auto cells = [&](const at::Tensor& image) { return at::pow(image.squeeze(-1), 1 / architecture.power); };
    const Likeness likeness{cells(generated), cells(beside(images(batch.image))), beside(column(batch.energy)),
                            beside(column(batch.angle))};
    const double events = event_weight * static_cast<double>(batch.size());
    at::Tensor total = generated.new_zeros({});
    for (const LikenessLoss& loss : kLikenessLosses) {
      if (weights.*loss.weight == 0) continue;
      const at::Tensor part = events * (likeness.*loss.distance)();
      values.push_back(part.item<float>());
      total = total + weights.*loss.weight * part;
    }
    return total;
  }

  // Outputs in inference mode, without autograd.
  std::vector<at::Tensor> judged(const graph::Parameters& parameters, std::span<const float> values) const {
    const at::NoGradGuard no_gradient;
    return judge(discriminator.weights(parameters, nn::Gradients::kNone), images(values), {});
  }
};

namespace {

thread_local ThreeDGan::Trace* current_trace = nullptr;

// Lanes of a stream: each phase has room for the nodes of a network (nn adds the node's index).
constexpr uint32_t kLanesPerPhase = 256;

// Behind the lanes of all phases: for generators that draw numbers of their own (dropout), which linac's does not.
constexpr uint32_t kGeneratorLane = 1U << 20;

RngKey keyed(RngKey key, Stream stream, Phase phase, uint32_t first_lane = 0) {
  key.stream = stream;
  key.lane = first_lane + static_cast<uint32_t>(phase) * kLanesPerPhase;
  return key;
}

std::vector<float> copied(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
  return {plain.const_data_ptr<float>(), plain.const_data_ptr<float>() + plain.numel()};
}

graph::Parameters drawn(const graph::Graph& graph, uint64_t seed, uint32_t lane) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  graph::initialize(graph, seed, lane, parameters);
  return parameters;
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

ThreeDGan::ThreeDGan(const job::ThreeDGanSettings& settings, const Numerics& numerics)
    : ThreeDGan(own_architecture(settings), numerics) {}

ThreeDGan::ThreeDGan(Architecture architecture, const Numerics& numerics) {
  need_architecture(architecture);
  const auto &g = architecture.foreign_generator, &d = architecture.foreign_discriminator;
  Runnable generator = g ? Runnable(*g) : Runnable(graph::fold_upsample(architecture.generator), numerics);
  Runnable discriminator = d ? Runnable(*d) : Runnable(architecture.discriminator, numerics);
  Generator sampler = g ? Generator(*g) : Generator(architecture.generator, numerics);
  networks_.reset(
      new Networks{std::move(architecture), std::move(generator), std::move(discriminator), std::move(sampler)});
}

ThreeDGan::~ThreeDGan() = default;

const graph::Graph& ThreeDGan::generator() const {
  return networks_->architecture.generator;
}
const graph::Graph& ThreeDGan::discriminator() const {
  return networks_->architecture.discriminator;
}

std::string ThreeDGan::explain() const {
  return fmt::format("{}\n{}", networks_->generator.explain(generator()),
                     networks_->discriminator.explain(discriminator()));
}

const Architecture& ThreeDGan::architecture() const {
  return networks_->architecture;
}

graph::Parameters ThreeDGan::initial_generator(uint64_t seed) const {
  const auto& given = networks_->architecture.generator_weights;
  return given ? *given : drawn(generator(), seed, 0);
}

graph::Parameters ThreeDGan::initial_discriminator(uint64_t seed) const {
  const auto& given = networks_->architecture.discriminator_weights;
  return given ? *given : drawn(discriminator(), seed, 1);
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
  const nn::Weights weights = networks_->discriminator.weights(discriminator, nn::Gradients::kWanted);
  const at::Tensor image = networks_->images(images);

  Contribution contribution;
  std::vector<at::Tensor> masks;
  const auto outputs = networks_->judge(weights, image,
                                        {.mode = nn::Mode::kTraining,
                                         .dropout_key = keyed(options.key, Stream::kDropout, phase),
                                         .batch_statistics = &contribution.statistics,
                                         .dropout_masks = current_trace != nullptr ? &masks : nullptr});
  const auto parts = losses(outputs, {column(label), column(batch.energy), column(batch.angle), column(batch.ecal)},
                            networks_->architecture.loss_weights, options.event_weight);
  contribution.losses = values_of(parts);
  contribution.gradient = nn::flat_gradient(parts[kTotal], weights, discriminator.trainable_layout, options.ready,
                                            &contribution.stayed_finite);
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
  const nn::Weights generator_weights = networks_->generator.weights(generator, nn::Gradients::kWanted);
  // The discriminator's weights want no gradient here: autograd then leaves that work out.
  const nn::Weights discriminator_weights = networks_->discriminator.weights(discriminator, nn::Gradients::kNone);

  Contribution contribution;
  const at::Tensor input =
      nn::tensor_view(latent, {static_cast<int64_t>(batch.size()), static_cast<int64_t>(latent.size() / batch.size())});
  const at::Tensor image =
      networks_->generator.run(generator_weights, {input},
                               {.mode = nn::Mode::kTraining,
                                .dropout_key = keyed(options.key, Stream::kDropout, phase, kGeneratorLane),
                                .batch_statistics = &contribution.statistics})[0];
  std::vector<at::Tensor> masks;
  const auto outputs = networks_->judge(discriminator_weights, image,
                                        {.mode = nn::Mode::kTraining,
                                         .dropout_key = keyed(options.key, Stream::kDropout, phase),
                                         .dropout_masks = current_trace != nullptr ? &masks : nullptr});
  auto parts = losses(outputs, {column(label), column(batch.energy), column(batch.angle), column(batch.ecal)},
                      networks_->architecture.loss_weights, options.event_weight);
  std::vector<float> own;
  if (generator_losses(networks_->architecture.loss_weights).size() > kLossParts)
    parts[kTotal] = parts[kTotal] + networks_->likeness(image, batch, options.event_weight, own);
  contribution.losses = values_of(parts);
  contribution.losses.insert(contribution.losses.end(), own.begin(), own.end());
  contribution.gradient = nn::flat_gradient(parts[kTotal], generator_weights, generator.trainable_layout, options.ready,
                                            &contribution.stayed_finite);
  contribution.all_empty = every_image_empty(image);
  contribution.judge();
  record_step(label, latent, image, outputs, masks);
  return contribution;
}

std::vector<float> ThreeDGan::test_losses(const graph::Parameters& discriminator, const Batch& batch,
                                          std::span<const float> images, float label, double event_weight) const {
  const auto outputs = networks_->judged(discriminator, images);
  const at::Tensor labels = at::full({static_cast<int64_t>(batch.size()), 1}, label);
  return values_of(losses(outputs, {labels, column(batch.energy), column(batch.angle), column(batch.ecal)},
                          networks_->architecture.loss_weights, event_weight));
}

std::vector<std::vector<float>> ThreeDGan::heads(const graph::Parameters& discriminator,
                                                 std::span<const float> images) const {
  std::vector<std::vector<float>> values;
  for (const at::Tensor& output : networks_->judged(discriminator, images)) values.push_back(copied(output));
  return values;
}

void ThreeDGan::record(Trace* trace) {
  current_trace = trace;
}

}  // namespace linac::models::threedgan
