#include "linac/train/gan_architecture.h"

#include <filesystem>

#include "linac/graph/keras_archive.h"

namespace linac::train {
namespace {

using models::ForeignModel;
using models::threedgan::Architecture;

bool is_torchscript(const std::string& file) {
  return std::filesystem::path(file).extension() == ".pt";
}

// What the discriminator of a file says of an image; linac measures the rest.
void read_discriminator(const std::string& file, double power, Architecture& architecture) {
  if (is_torchscript(file)) {
    architecture.foreign_discriminator = ForeignModel::torchscript(file, {{"image", architecture.image()}});
    architecture.discriminator = architecture.foreign_discriminator->graph();
    architecture.discriminator_weights = architecture.foreign_discriminator->parameters();
    return;
  }
  graph::KerasModel keras = graph::read_keras(file);
  architecture.discriminator_weights = graph::from_weight_values(keras.graph, keras.weights);
  architecture.discriminator = std::move(keras.graph);
  need_architecture(architecture);
  architecture.discriminator = models::threedgan::with_analytic_heads(std::move(architecture.discriminator), power);
}

void read_generator(const std::string& file, int64_t latent, Architecture& architecture) {
  if (is_torchscript(file)) {
    architecture.foreign_generator = ForeignModel::torchscript(file, {{"latent", {latent}}});
    architecture.generator = architecture.foreign_generator->graph();
    architecture.generator_weights = architecture.foreign_generator->parameters();
    return;
  }
  graph::KerasModel keras = graph::read_keras(file);
  architecture.generator_weights = graph::from_weight_values(keras.graph, keras.weights);
  architecture.generator = std::move(keras.graph);
}

}  // namespace

Architecture architecture_of(const spec::Job& job) {
  const spec::Model& model = job.model;
  if (model.generator.empty()) return models::threedgan::own_architecture(model.latent, model.power);
  Architecture architecture;
  architecture.power = model.power;
  read_generator(model.generator, model.latent, architecture);
  read_discriminator(model.discriminator, model.power, architecture);
  need_architecture(architecture);
  return architecture;
}

}  // namespace linac::train
