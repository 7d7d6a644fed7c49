// Writes what one training step computes, and the exported networks with values to check them by, for the Python peers:
//   dump_step FOLDER [EVENTS] -> step.h5 (layout: reference_test.py), generator.keras, discriminator.keras, values.h5
//   (keras_export_test.py)

#include <fmt/format.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "float_file.h"
#include "linac/base/base/error.h"
#include "linac/io/data/dataset.h"
#include "linac/model/models/threedgan/threedgan.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/trained/model_file.h"

namespace {

using linac::models::Contribution;
using linac::models::threedgan::Batch;
using linac::models::threedgan::kLossNames;
using linac::models::threedgan::kLossParts;
using linac::models::threedgan::Phase;
using linac::models::threedgan::ThreeDGan;

constexpr int64_t kStepEvents = 2, kExportEvents = 8;
constexpr uint64_t kSeed = 11;

void write_layout(FloatFile& file, const std::string& prefix, const linac::graph::Layout& layout,
                  std::span<const float> buffer) {
  for (const linac::graph::Slot& slot : layout.slots) {
    file.write(prefix + slot.name, slot.shape,
               buffer.subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size)));
  }
}

// "bn_1/moving_mean" -> "bn_1/mean"
linac::graph::Layout batch_names(linac::graph::Layout layout) {
  for (linac::graph::Slot& slot : layout.slots)
    slot.name.erase(slot.name.find("moving_"), std::string("moving_").size());
  return layout;
}

void write_weights(FloatFile& file, const std::string& prefix, const linac::graph::Parameters& parameters) {
  write_layout(file, prefix, parameters.trainable_layout, parameters.trainable);
  write_layout(file, prefix, parameters.statistics_layout, parameters.statistics);
}

void write_phase(FloatFile& file, const std::string& prefix, const linac::graph::Graph& discriminator,
                 const linac::graph::Parameters& updated, const Batch& batch, const ThreeDGan::Trace& trace,
                 const Contribution& contribution) {
  const auto n = static_cast<int64_t>(batch.size());
  file.write(prefix + "label", {n}, trace.label);
  file.write(prefix + "energy", {n}, batch.energy);
  file.write(prefix + "angle", {n}, batch.angle);
  file.write(prefix + "ecal", {n}, batch.ecal);
  size_t mask = 0;
  for (const linac::graph::Node& node : discriminator.nodes) {
    if (node.op != "Dropout") continue;
    std::vector<int64_t> shape{n};
    shape.insert(shape.end(), node.output.begin(), node.output.end());
    file.write(prefix + "dropout/" + node.name, shape, trace.dropout_masks.at(mask++));
  }
  for (size_t i = 0; i < trace.outputs.size(); ++i) {
    const auto& node = discriminator.nodes[static_cast<size_t>(discriminator.outputs[i])];
    file.write(prefix + "out/" + node.name, {n}, trace.outputs[i]);
  }
  for (size_t i = 0; i < kLossParts; ++i)
    file.write(prefix + "loss/" + kLossNames[i], {}, std::span(&contribution.losses[i], 1));
  write_layout(file, prefix + "grad/", updated.trainable_layout, contribution.gradient);
  write_layout(file, prefix + "stats/", batch_names(updated.statistics_layout), contribution.statistics);
}

// Weights away from their initial zeros and ones, so that no layer is trivial. The biases of the convolutions keep the
// activations' inputs away from their kinks: there single and double precision disagree about the side, and each such
// cell changes a gradient by a finite step.
void disturb(linac::graph::Parameters& parameters, bool both_sides, uint32_t lane) {
  constexpr float kBias = 6;
  for (const linac::graph::Slot& slot : parameters.trainable_layout.slots) {
    if (slot.name.ends_with("kernel")) continue;
    const bool convolution = slot.name.starts_with("conv") && slot.size > 1;
    const auto values = parameters.values(slot.name);
    std::vector<float> noise(values.size());
    linac::fill_normal({.seed = kSeed, .stream = linac::Stream::kInit, .lane = lane++}, noise);
    for (size_t i = 0; i < values.size(); ++i) {
      const float bias = convolution ? (both_sides && i % 2 == 1 ? -kBias : kBias) : 0;
      values[i] += bias + 0.05F * noise[i];
    }
  }
}

void dump_step(const std::string& path, const ThreeDGan& model, const linac::graph::Parameters& generator,
               const linac::graph::Parameters& discriminator, const linac::data::SampleBatch& samples) {
  const Batch batch{samples.image, samples.energy, samples.angle, samples.ecal};
  const ThreeDGan::StepOptions options{
      .key = {.seed = kSeed}, .event_weight = 1.0 / static_cast<double>(samples.energy.size()), .flip = 0.3};
  FloatFile file(path);
  write_weights(file, "generator/weights/", generator);
  write_weights(file, "discriminator/weights/", discriminator);
  const auto events = static_cast<int64_t>(samples.energy.size());
  const std::vector<int64_t> image_shape{events, samples.shape.x, samples.shape.y, samples.shape.z};
  // Not showers: energy in every cell, for the same reason as the biases (disturb).
  const auto dense = [&](float lowest, uint32_t lane) {
    std::vector<float> images(batch.image.size());
    linac::fill_uniform({.seed = kSeed, .lane = lane}, images);
    for (float& cell : images) cell = lowest + 0.5F * cell;
    return images;
  };
  for (const bool real : {true, false}) {
    const std::string prefix = real ? "phases/d_real/" : "phases/d_fake/";
    const std::vector<float> images = real ? dense(0.5F, 0) : dense(0.25F, 1);
    ThreeDGan::Trace trace;
    ThreeDGan::record(&trace);
    const auto contribution = model.discriminator_step(
        discriminator, batch, images, real ? Phase::kRealDiscriminator : Phase::kFakeDiscriminator, options);
    ThreeDGan::record(nullptr);
    file.write(prefix + "image", image_shape, images);
    write_phase(file, prefix, model.discriminator(), discriminator, batch, trace, contribution);
  }
  ThreeDGan::Trace trace;
  ThreeDGan::record(&trace);
  const auto contribution = model.generator_step(generator, discriminator, batch, Phase::kFirstGenerator, options);
  ThreeDGan::record(nullptr);
  const auto latent = static_cast<int64_t>(trace.latents.size()) / events;
  file.write("phases/g/latent", {events, latent}, trace.latents);
  file.write("phases/g/out/image", image_shape, trace.image);
  write_phase(file, "phases/g/", model.discriminator(), generator, batch, trace, contribution);
}

void dump_export(const std::filesystem::path& folder, const ThreeDGan& model, const linac::graph::Parameters& generator,
                 const linac::graph::Parameters& discriminator, const linac::data::SampleBatch& samples) {
  const auto n = static_cast<int64_t>(samples.energy.size());
  linac::job::Job job;
  job.data.train = {"data/showers-train.h5"};
  const auto& architecture = model.architecture();
  linac::trained::export_generator(job, std::nullopt, architecture, generator, folder / "generator.keras");
  linac::trained::export_discriminator(job, std::nullopt, architecture, discriminator, folder / "discriminator.keras");
  linac::trained::export_generator(job, std::nullopt, architecture, generator, folder / "generator.onnx",
                                   linac::trained::FileFormat::kOnnx);
  linac::trained::export_discriminator(job, std::nullopt, architecture, discriminator, folder / "discriminator.onnx",
                                       linac::trained::FileFormat::kOnnx);
  const Batch batch{samples.image, samples.energy, samples.angle, samples.ecal};
  const auto latents = model.sampler().latents(batch.energy, batch.angle, {.seed = 3, .stream = linac::Stream::kNoise});
  // Through the file and back, as `linac generate --model FILE.keras` does.
  const auto reread = linac::trained::load_generator(folder / "generator.keras");
  const linac::models::threedgan::Generator sampler(reread.graph);
  const auto heads = model.heads(discriminator, batch.image);
  FloatFile file((folder / "values.h5").string());
  file.write("latent", {n, static_cast<int64_t>(latents.size()) / n}, latents);
  file.write("image", {n, samples.shape.x, samples.shape.y, samples.shape.z}, sampler.run(reread.parameters, latents));
  file.write("d_image", {n, samples.shape.x, samples.shape.y, samples.shape.z}, batch.image);
  file.write("d_generation", {n}, heads[0]);
  file.write("d_auxiliary", {n}, heads[1]);
}

}  // namespace

int main(int argc, char** argv) {
  LINAC_CHECK(argc == 2 || argc == 3);
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  linac::models::use_threads(1);
  const auto dataset = linac::data::Dataset::open({"data/showers-train.h5"}, {}, {});
  const auto first = [&](int64_t count) {
    std::vector<int64_t> events(static_cast<size_t>(count));
    std::iota(events.begin(), events.end(), 0);
    linac::data::SampleBatch samples;
    dataset->read(events, samples);
    return samples;
  };
  const ThreeDGan model(linac::job::ThreeDGanSettings{});
  auto generator = model.initial_generator(kSeed), discriminator = model.initial_discriminator(kSeed);
  disturb(generator, false, 1000);  // the other side of a ReLU is dead
  disturb(discriminator, true, 2000);
  dump_step((folder / "step.h5").string(), model, generator, discriminator,
            first(argc == 3 ? std::stoll(argv[2]) : kStepEvents));
  dump_export(folder, model, generator, discriminator, first(kExportEvents));
  return 0;
}
