#include "linac/train/trained/gan_architecture.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>

#include "linac/base/base/error.h"
#include "linac/io/storage/storage.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/graph/weight_rules.h"
#include "linac/model/keras/archive.h"
#include "linac/train/trained/twins.h"

namespace linac::trained {
namespace {

using models::ForeignModel;
using models::threedgan::Architecture;

// A network of a file: Keras, TorchScript or a .pt2.
struct Part {
  graph::Graph graph;
  graph::Parameters weights;
  std::optional<ForeignModel> foreign;
};

// `argument`: what forward() of the last two takes; a Keras file says itself.
Part read_part(const std::string& name, const std::string& argument, const graph::Shape& shape) {
  const std::string file = storage::local_copy(name);
  if (ForeignModel::is_torchscript(file)) {
    const auto script = ForeignModel::torchscript(file, {{argument, shape}});
    return {script.graph(), script.parameters(), script};
  }
  keras::KerasModel keras = keras::read_keras(file);
  need_no_twins(keras.graph, file);
  if (graph::has_open_sizes(keras.graph))
    throw user_error(fmt::format("[train] {}: leaves sizes of its input open; showers have one size: give it", file));
  if (graph::has_penalty(keras.graph)) {
    throw user_error(fmt::format(
        "[train] {}: has regularizers, and the adversarial losses have no place for them; build it without", file));
  }
  graph::Parameters weights = graph::from_weight_values(keras.graph, keras.weights);
  return {std::move(keras.graph), std::move(weights), std::nullopt};
}

}  // namespace

Architecture architecture_of(const job::Job& job) {
  const auto& model = job.model.as<job::ThreeDGanSettings>();
  if (model.generator.empty()) return models::threedgan::own_architecture(model);
  Part generator = read_part(model.generator, "latent", {model.latent});
  Architecture architecture;
  architecture.power = model.power;
  architecture.loss_weights = model.loss_weights;
  architecture.generator = std::move(generator.graph);
  architecture.generator_weights = std::move(generator.weights);
  architecture.foreign_generator = std::move(generator.foreign);

  Part discriminator = read_part(model.discriminator, "image", architecture.image());
  architecture.discriminator = std::move(discriminator.graph);
  architecture.discriminator_weights = std::move(discriminator.weights);
  architecture.foreign_discriminator = std::move(discriminator.foreign);
  need_architecture(architecture);
  if (!architecture.foreign_discriminator) {
    architecture.discriminator =
        models::threedgan::with_analytic_heads(std::move(architecture.discriminator), model.power);
  }
  return architecture;
}

}  // namespace linac::trained
