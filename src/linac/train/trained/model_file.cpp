#include "linac/train/trained/model_file.h"

#include <fmt/format.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/job/run_choice.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/io/data/showers.h"
#include "linac/io/storage/storage.h"
#include "linac/model/chain/chain_file.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/graph/prune.h"
#include "linac/model/keras/archive.h"
#include "linac/model/onnx/aten/write_program.h"
#include "linac/model/onnx/write_onnx.h"
#include "linac/train/trained/checkpoint_files.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/gan_architecture.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/trained/target_units.h"
#include "linac/train/trained/trained_model.h"
#include "linac/train/trained/twins.h"

namespace linac::trained {
namespace {

namespace threedgan = models::threedgan;

nlohmann::json extra(const job::Job& job, const std::optional<primaries::TrainedRange>& range,
                     const threedgan::Architecture& architecture) {
  nlohmann::json notes{{"job", job::to_yaml(job)},
                       {"power", job.model.as<job::ThreeDGanSettings>().power},
                       {"scale", job.data.scale},
                       {"latent", architecture.latent()},
                       {"energy_unit_gev", data::Preprocessing{}.energy_unit_gev}};
  primaries::add_range(range, notes);
  return notes;
}

onnx::Metadata metadata_of(const nlohmann::json& extra) {
  onnx::Metadata metadata;
  for (const auto& [key, value] : extra.items())
    metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return metadata;
}

void write_network(const graph::Graph& graph, const graph::WeightValues& weights, const nlohmann::json& extra,
                   const std::filesystem::path& path, FileFormat format) {
  if (format == FileFormat::kOnnx)
    onnx::write_onnx(graph, weights, path, metadata_of(extra));
  else
    keras::write_keras(graph, weights, path, extra);
}

void need_graph(const std::optional<models::ForeignModel>& foreign, const std::string& file, const char* where) {
  if (!foreign) return;
  throw user_error(fmt::format("[export] {} is PyTorch's, which is not exported from a checkpoint; {}", file, where));
}

// Keras and ONNX know graphs of layers; what draws the showers is the walk from cell to cell around two of them.
[[noreturn]] void refuse_chain(const std::filesystem::path& model) {
  throw user_error(
      fmt::format("[export] {}: a cell_chain draws a shower cell by cell, which is no graph of Keras or ONNX; take its "
                  ".chain file, which `linac generate` and `linac validate` read",
                  model.string()));
}

// Of a run the model that it has left: a file of Keras or of PyTorch.
std::filesystem::path exported_file(const std::filesystem::path& model) {
  if (chain::is_chain_file(model)) refuse_chain(model);
  if (std::filesystem::is_directory(model)) {
    if (const auto file = model_of_run(model)) return exported_file(*file);
    throw user_error(fmt::format("[export] {}: no trained model; {}", model.string(), advice_on_run(model)));
  }
  if (model.extension() == ".safetensors") {
    throw user_error(
        fmt::format("[export] {}: weights without a graph; the code that made them can export them", model.string()));
  }
  return model;
}

// Of an ONNX model whose inputs have open sizes.
void say_sizes(const keras::KerasModel& keras, const std::filesystem::path& path) {
  if (onnx::has_free_sizes(onnx::to_onnx(keras.graph, keras.weights, {}))) return;
  for (const int index : keras.graph.inputs) {
    const graph::Node& input = keras.graph.nodes[static_cast<size_t>(index)];
    if (graph::open_axes(input).empty()) continue;
    if (!keras.extra.is_object() || !keras.extra.contains("inputs")) {
      throw user_error(fmt::format(
          "[export] {}: input '{}' is {}, and the operators need its size; train the model with linac, which knows "
          "that of the data, or give it to Input",
          path.string(), input.name, graph::describe_open_shape(input)));
    }
    log::info(fmt::format("[export] input '{}' is {} in Keras; the ONNX model takes {}, which it was trained with",
                          input.name, graph::describe_open_shape(input), graph::to_string(input.output)));
  }
}

void export_program(const std::filesystem::path& model, const std::filesystem::path& path, FileFormat format) {
  if (format != FileFormat::kOnnx)
    throw user_error(
        fmt::format("[export] {} is PyTorch's, of which linac writes ONNX; name a file.onnx", model.string()));
  const auto notes = nlohmann::json::parse(models::ForeignModel::notes_in_torchscript(model), nullptr, false);
  const auto metadata = metadata_of(notes.is_object() ? notes : nlohmann::json::object());
  // Of outputs of training units; how many there are the program says.
  const std::vector<graph::OutputUnits> units = notes.is_object() && notes.contains("targets")
                                                    ? units_of(columns_from_json(notes["targets"]))
                                                    : std::vector<graph::OutputUnits>();
  if (pt2::is_program_file(model)) return onnx::write_onnx(pt2::ProgramFile(model), path, metadata, units);
  if (!notes.is_object() || !notes.contains("job")) {
    throw user_error(
        fmt::format("[export] {}: was not trained by linac, so the shapes of its inputs are not known; "
                    "torch.onnx.export is told them, and torch.export writes them into a .pt2",
                    model.string()));
  }
  onnx::write_onnx(open_script(model, notes).program().value(), path, metadata, units);
}

GeneratorModel from_keras(const std::filesystem::path& path) {
  keras::KerasModel keras = keras::read_keras(path);
  if (graph::has_open_sizes(keras.graph))
    throw user_error(fmt::format("[model] {}: not a generator (it leaves sizes of its input open)", path.string()));
  job::Job job;
  if (keras.extra.contains("job")) {
    job = job::parse_job(keras.extra.at("job").get<std::string>(), path.string() + " (linac.json)", {});
  }
  const bool generator = keras.graph.inputs.size() == 1 && keras.graph.outputs.size() == 1 &&
                         keras.graph.nodes[static_cast<size_t>(keras.graph.outputs[0])].output.size() == 4;
  if (!generator)
    throw user_error(fmt::format("[model] {}: not a generator (one vector in, one image out)", path.string()));
  if (!job.model.is<job::ThreeDGanSettings>()) job.model = {};
  job.model.as<job::ThreeDGanSettings>().latent =
      keras.graph.nodes[static_cast<size_t>(keras.graph.inputs[0])].output[0];
  graph::Parameters parameters = graph::from_weight_values(keras.graph, keras.weights);
  return {std::move(keras.graph),
          std::nullopt,
          std::move(parameters),
          job,
          keras.extra.contains("job"),
          path.string(),
          primaries::range_in(keras.extra, path.string())};
}

}  // namespace

void fill(const weights::TensorFile& file, const std::string& network, graph::Parameters& parameters) {
  for (const graph::Layout* layout : {&parameters.trainable_layout, &parameters.statistics_layout}) {
    for (const graph::Slot& slot : layout->slots) {
      const auto& values = file.find(value_name(network, "weights", slot.name), static_cast<size_t>(slot.size));
      std::copy(values.begin(), values.end(), parameters.values(slot.name).begin());
    }
  }
}

Checkpoint load_checkpoint(const std::filesystem::path& named) {
  Checkpoint checkpoint;
  checkpoint.path = checkpoint_of(named.string());
  if (!std::filesystem::exists(checkpoint.path)) {
    throw user_error(fmt::format("[model] {}: does not exist; give a run's folder, a checkpoint or a .keras file",
                                 checkpoint.path.string()));
  }
  checkpoint.file = weights::decode_tensors(read_file(checkpoint.path), checkpoint.path.string());
  const nlohmann::json& notes = checkpoint.file.meta;
  try {
    checkpoint.job = job::parse_job(notes.at("run").at("job").get<std::string>(), checkpoint.path.string(), {});
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format("[model] {}: does not name its job ({})", checkpoint.path.string(), error.what()));
  }
  checkpoint.range = primaries::range_in(notes.at("run"), checkpoint.path.string());
  checkpoint.named = storage::local_copy(job::split_choice(named.string()).run);
  return checkpoint;
}

RunModel run_model(Checkpoint checkpoint) {
  if (!checkpoint.job.model.is<job::ThreeDGanSettings>()) {
    const std::filesystem::path& named = checkpoint.named;
    const bool folder = std::filesystem::is_directory(named);
    throw user_error(fmt::format("[model] {}: a run of model.kind = {}, not of a 3dgan; {}", named.string(),
                                 checkpoint.job.model.kind(),
                                 advice_on_run(folder ? named : named.parent_path().parent_path())));
  }
  RunModel model{.job = std::move(checkpoint.job),
                 .architecture = {},
                 .generator = {},
                 .discriminator = {},
                 .checkpoint = std::move(checkpoint.path),
                 .range = checkpoint.range};
  model.architecture = architecture_of(model.job);
  model.generator = graph::Parameters::of(model.architecture.generator);
  model.discriminator = graph::Parameters::of(model.architecture.discriminator);
  fill(checkpoint.file, "generator", model.generator);
  fill(checkpoint.file, "discriminator", model.discriminator);
  return model;
}

RunModel load_run(const std::filesystem::path& named) {
  return run_model(load_checkpoint(named));
}

GeneratorModel generator_of(Checkpoint checkpoint) {
  RunModel run = run_model(std::move(checkpoint));
  return {run.architecture.generator,
          run.architecture.foreign_generator,
          std::move(run.generator),
          run.job,
          true,
          run.checkpoint.string(),
          run.range};
}

GeneratorModel load_generator(const std::filesystem::path& named) {
  if (named.extension() == ".keras") return from_keras(storage::local_copy(named.string()));
  return generator_of(load_checkpoint(named));
}

FileFormat format_of(const std::filesystem::path& path) {
  if (path.extension() == ".keras") return FileFormat::kKeras;
  if (path.extension() == ".onnx") return FileFormat::kOnnx;
  throw user_error(
      fmt::format("[model] {}: ends in neither .keras nor .onnx; rename it or give --format", path.string()));
}

void export_generator(const job::Job& job, const std::optional<primaries::TrainedRange>& range,
                      const threedgan::Architecture& architecture, const graph::Parameters& parameters,
                      const std::filesystem::path& path, FileFormat format) {
  need_graph(architecture.foreign_generator, job.model.as<job::ThreeDGanSettings>().generator,
             "the run leaves it trained as models/generator.pt or .pt2, of which `linac export` makes ONNX");
  write_network(architecture.generator, graph::to_weight_values(architecture.generator, parameters),
                extra(job, range, architecture), path, format);
}

void save_generator(const job::Job& job, const std::optional<primaries::TrainedRange>& range,
                    const threedgan::Architecture& architecture, const graph::Parameters& parameters,
                    const std::filesystem::path& folder) {
  if (architecture.foreign_generator)
    architecture.foreign_generator->save(parameters, folder / "generator", extra(job, range, architecture).dump(2));
  else
    export_generator(job, range, architecture, parameters, folder / "generator.keras");
}

void export_discriminator(const job::Job& job, const std::optional<primaries::TrainedRange>& range,
                          const threedgan::Architecture& architecture, const graph::Parameters& parameters,
                          const std::filesystem::path& path, FileFormat format) {
  need_graph(architecture.foreign_discriminator, job.model.as<job::ThreeDGanSettings>().discriminator,
             "its trained weights are in the run's checkpoints (safetensors)");
  const graph::Graph& whole = architecture.discriminator;
  // The other two heads are formulas on the image; Keras and ONNX have no layer for them.
  const graph::Graph learned = graph::prune(whole, {whole.outputs.at(0), whole.outputs.at(1)});
  write_network(learned, graph::to_weight_values(learned, parameters), extra(job, range, architecture), path, format);
}

void export_keras_model(const std::filesystem::path& named, const std::filesystem::path& path, FileFormat format) {
  const std::filesystem::path model = exported_file(told_model(named.string()));
  std::vector<std::string> inputs;
  for (const std::filesystem::path& file : keras::files_of(model)) inputs.push_back(file.string());
  storage::need_another_file(path, inputs, "export");
  if (models::ForeignModel::is_torchscript(model)) return export_program(model, path, format);
  keras::KerasModel keras = keras::read_keras(model);
  warn_of_twins(keras.graph, model);
  close_sizes(keras);
  const size_t outputs = keras.graph.outputs.size();
  keras.graph = graph::in_units_of_files(std::move(keras.graph), units_in(keras.extra, outputs));
  if (format == FileFormat::kOnnx && graph::has_open_sizes(keras.graph)) say_sizes(keras, model);
  write_network(keras.graph, keras.weights, keras.extra, path, format);
}

}  // namespace linac::trained
