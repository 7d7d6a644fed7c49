#include "linac/train/trained/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/job/job.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/open_inputs.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/trained/target_units.h"
#include "linac/train/trained/twins.h"

namespace linac::trained {
namespace {

std::filesystem::path file_of(const std::filesystem::path& model) {
  const bool is_pair = keras::files_of(model).size() > 1;
  if (!is_pair && !std::filesystem::exists(model)) {
    const std::string name = model.string();
    const bool of_run = std::filesystem::is_directory(name.substr(0, name.rfind('@')));
    throw user_error(fmt::format("[model] {}: does not exist; give the folder of a run or the file of a model{}", name,
                                 of_run ? ", or a state of that run: @best, @last or @epoch=N" : ""));
  }
  if (!std::filesystem::is_directory(model)) return model;
  if (const auto file = model_of_run(model)) return *file;
  throw user_error(fmt::format("[model] {}: no trained model; {}", model.string(), advice_on_run(model)));
}

/// The name that the code itself gives to a weight: without the node that holds it here.
std::string own_name(const graph::Slot& slot) {
  return slot.name.substr(slot.name.find('/') + 1);
}

job::Job job_in(const nlohmann::json& notes, const std::filesystem::path& file) {
  if (!notes.is_object() || !notes.contains("job"))
    throw user_error(fmt::format("[model] {}: was not trained by linac, so its inputs are not known", file.string()));
  return job::parse_job(notes["job"].get<std::string>(), file.string(), {});
}

std::vector<graph::OutputUnits> units_of_model(const models::ForeignModel& model, const nlohmann::json& notes) {
  return units_in(notes, model.graph().outputs.size());
}

TrainedModel torchscript(const std::filesystem::path& file) {
  const auto notes = nlohmann::json::parse(models::ForeignModel::notes_in_torchscript(file), nullptr, false);
  const auto model = open_script(file, notes);
  return {std::make_unique<const models::Predictor>(model, model.parameters(), units_of_model(model, notes)),
          notes,
          model.graph(),
          {}};
}

TrainedModel plugin(const std::filesystem::path& file) {
  const weights::TensorFile weights = weights::decode_tensors(read_file(file), file.string(), weights::Digest::kNone);
  const job::Job job = job_in(weights.meta, file);
  if (!job.model.is<job::CustomSettings>())
    throw data_error(fmt::format("[model] {}: not the weights of a plug-in's model", file.string()));
  const auto& settings = job.model.as<job::CustomSettings>();
  const auto model = models::ForeignModel::plugin(models::open_plugin(settings.file, settings.options), 0);
  graph::Parameters parameters = model.parameters();
  for (const auto* layout : {&parameters.trainable_layout, &parameters.statistics_layout}) {
    for (const graph::Slot& slot : layout->slots) {
      const auto& values = weights.find(own_name(slot), static_cast<size_t>(slot.size));
      std::copy(values.begin(), values.end(), parameters.values(slot.name).begin());
    }
  }
  auto units = units_of_model(model, weights.meta);
  return {std::make_unique<const models::Predictor>(model, std::move(parameters), std::move(units)),
          weights.meta,
          model.graph(),
          {}};
}

}  // namespace

void close_sizes(keras::KerasModel& model, const FindShapes& find) {
  if (!graph::has_open_sizes(model.graph)) return;
  const bool knows = model.extra.is_object() && model.extra.contains("inputs");
  if (!knows && !find) return;
  const std::vector<graph::Shape> shapes =
      knows ? trained_shapes(model.graph, columns_from_json(model.extra.at("inputs"))) : find(model.graph);
  model.graph = graph::with_input_shapes(std::move(model.graph), shapes);
}

models::ForeignModel open_script(const std::filesystem::path& file, const nlohmann::json& notes) {
  const job::Job job = job_in(notes, file);
  std::vector<std::pair<std::string, graph::Shape>> inputs;
  if (job.model.is<job::ThreeDGanSettings>())
    inputs.emplace_back("latent", graph::Shape{job.model.as<job::ThreeDGanSettings>().latent});
  for (const job::DataColumn& input : job.data.inputs) inputs.emplace_back(input.name, input.shape);
  return models::ForeignModel::torchscript(file, inputs);
}

TrainedModel load_trained(const std::filesystem::path& model, const FindShapes& find) {
  const std::filesystem::path file = file_of(told_model(model.string()));
  if (models::ForeignModel::is_torchscript(file)) return torchscript(file);
  if (file.extension() == ".safetensors") return plugin(file);
  keras::KerasModel keras = keras::read_keras(file);
  warn_of_twins(keras.graph, file);
  close_sizes(keras, find);
  const size_t outputs = keras.graph.outputs.size();
  keras.graph = graph::in_units_of_files(std::move(keras.graph), units_in(keras.extra, outputs));
  auto network = std::make_unique<const models::Predictor>(keras);
  return {std::move(network), std::move(keras.extra), std::move(keras.graph), std::move(keras.compile)};
}

std::filesystem::path save_trained(const models::ForeignModel& model, const Network& network,
                                   const nlohmann::json& notes, const std::filesystem::path& folder) {
  const auto file = model.save(network.parameters, folder / network.name, notes.dump(2));
  return file ? *file : save_weights(network, notes, folder);
}

std::filesystem::path save_weights(const Network& network, const nlohmann::json& notes,
                                   const std::filesystem::path& folder) {
  std::vector<weights::TensorView> tensors;
  const auto add = [&](const graph::Layout& layout, const AlignedFloats& values) {
    for (const graph::Slot& slot : layout.slots) {
      tensors.push_back({own_name(slot), slot.shape,
                         std::span(values).subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size))});
    }
  };
  add(network.parameters.trainable_layout, network.parameters.trainable);
  add(network.parameters.statistics_layout, network.parameters.statistics);
  const auto path = folder / (network.name + ".safetensors");
  write_file_atomically(path, weights::encode_tensors(tensors, notes, weights::Digest::kNone));
  return path;
}

}  // namespace linac::trained
