#include "linac/train/trained/state_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/job/job.h"
#include "linac/base/job/job_paths.h"
#include "linac/io/storage/storage.h"
#include "linac/model/models/inclusive_classifier/networks.h"
#include "linac/model/models/own_losses.h"
#include "linac/train/trained/checkpoint_files.h"
#include "linac/train/trained/compiled_job.h"
#include "linac/train/trained/model_file.h"
#include "linac/train/trained/network.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/trained/target_units.h"
#include "linac/train/trained/trained_model.h"

namespace linac::trained {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNetwork = "model";  // in its checkpoints

job::Job job_of(const nlohmann::json& meta, const fs::path& file) {
  try {
    return job::parse_job(meta.at("run").at("job").get<std::string>(), file.string(), {});
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format("[model] {}: does not name its job ({})", file.string(), error.what()));
  }
}

// What the run's model says of its training; of a run that has not come to its end the checkpoint has it.
nlohmann::json notes_of(const weights::TensorFile& state, const nlohmann::json& left, const job::Job& job) {
  nlohmann::json notes = left.is_object() ? left : state.meta.at("run").value("model", nlohmann::json::object());
  if (!notes.contains("job")) {
    job::Job alone = job;
    alone.workers = 1;
    notes["job"] = job::to_yaml(alone);
  }
  return notes;
}

// The weights and the optimiser's state.
Network network_of(const weights::TensorFile& state, const graph::Graph& graph, graph::Parameters parameters,
                   const job::Job& job) {
  Network network = fresh_network(kNetwork, graph, std::move(parameters), job.train.optimizer);
  fill(state, kNetwork, network.parameters);
  for (auto& slot : network.optimizer.slots()) {
    for (const graph::Slot& place : network.parameters.trainable_layout.slots) {
      const auto& values =
          state.find(value_name(kNetwork, "optimizer/" + slot.name, place.name), static_cast<size_t>(place.size));
      std::copy(values.begin(), values.end(), slot.values.begin() + place.offset);
    }
  }
  network.optimizer.set_updates(state.meta.at("updates").at(0).get<int64_t>());
  return network;
}

// The file that a job's model is made of, from where the run was started.
fs::path file_of_job(const fs::path& run, const std::string& named) {
  return storage::local_copy(job::path_from(started_in(run), named));
}

// A file may call layers otherwise than the graph that it was written from.
bool fits(const graph::Graph& graph, const weights::TensorFile& state) {
  const graph::Parameters parameters = graph::Parameters::of(graph);
  const auto has = [&](const graph::Slot& slot) {
    const auto found = state.tensors.find(value_name(kNetwork, "weights", slot.name));
    return found != state.tensors.end() && found->second.size() == static_cast<size_t>(slot.size);
  };
  return std::ranges::all_of(parameters.trainable_layout.slots, has) &&
         std::ranges::all_of(parameters.statistics_layout.slots, has);
}

keras::KerasModel keras_of(const fs::path& run, const std::optional<fs::path>& left, const job::Job& job,
                           const weights::TensorFile& state) {
  keras::KerasModel model;
  if (left) {
    model = keras::read_keras(*left);
    to_units_of_training(job, model);
    close_sizes(model);
    if (fits(model.graph, state)) return model;
  }
  if (job.model.is<job::KerasSettings>()) {
    model = read_model(job, file_of_job(run, job.model.as<job::KerasSettings>().file)).model;
    const auto losses = models::losses_of_outputs(model.graph, job.train.fit.loss);
    model.graph = models::with_outputs(model.graph, models::used_outputs(losses));
  } else {
    model.graph = models::inclusive_classifier::network(job.model.as<job::InclusiveClassifierSettings>());
  }
  model.extra = notes_of(state, nullptr, job);
  close_sizes(model);
  return model;
}

fs::path write_keras_state(const keras::KerasModel& model, const weights::TensorFile& state, const job::Job& job,
                           const fs::path& folder) {
  const graph::Graph& graph = model.graph;
  const nlohmann::json notes = notes_of(state, model.extra, job);
  const graph::Graph written = graph::in_units_of_files(graph, units_in(notes, graph.outputs.size()));
  const Network network = network_of(state, graph, graph::Parameters::of(graph), job);
  keras::Training training{.compile = model.compile, .optimizer = {}};
  if (keras_optimizer(job.train.optimizer) && !model.compile.is_null())
    training.optimizer = keras_optimizer_variables(job.train.optimizer, graph, keras::written_order(written), network);
  keras::write_keras(written, graph::to_weight_values(graph, network.parameters), folder / "model.keras", notes,
                     training);
  return folder / "model.keras";
}

}  // namespace

CheckpointMoment moment_of(const nlohmann::json& meta, const fs::path& file) {
  try {
    return {meta.at("epoch"), meta.at("step")};
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format("[model] {}: not a checkpoint of a run ({})", file.string(), error.what()));
  }
}

std::string state_words(const nlohmann::json& meta, const fs::path& file) {
  const CheckpointMoment moment = moment_of(meta, file);
  const int64_t best = meta.value("best", nlohmann::json::object()).value("epoch", int64_t{-1}) + 1;
  const std::string by = job_of(meta, file).checkpoint.best_by;
  if (moment.step > 0) return fmt::format("step {} of epoch {}", moment.step, moment.epochs + 1);
  if (best == 0) return fmt::format("epoch {}", moment.epochs);
  return best == moment.epochs ? fmt::format("epoch {}, the best in {} so far", best, by)
                               : fmt::format("epoch {}; the best in {} so far is epoch {}", moment.epochs, by, best);
}

bool is_of_labelled_events(const nlohmann::json& meta, const fs::path& file) {
  const job::Job job = job_of(meta, file);
  return !job.model.is<job::ThreeDGanSettings>() && !job.model.is<job::CellChainSettings>();
}

fs::path model_of_state(const std::string& name, const fs::path& run, const weights::TensorFile& state,
                        const fs::path& file, const fs::path& folder) {
  const job::Job job = job_of(state.meta, file);
  const bool has_model = std::any_of(state.tensors.begin(), state.tensors.end(), [](const auto& one) {
    return one.first.starts_with(std::string(kNetwork) + "/weights/");
  });
  if (!has_model) {
    throw user_error(
        fmt::format("[model] {}: the networks of a plug-in's own training, which its code alone computes; {}", name,
                    advice_on_run(run)));
  }
  const std::optional<fs::path> left = model_of_run(run);
  if (job.model.is<job::KerasSettings>() || job.model.is<job::InclusiveClassifierSettings>())
    return write_keras_state(keras_of(run, left, job, state), state, job, folder);
  nlohmann::json notes;
  std::optional<models::ForeignModel> model;
  if (job.model.is<job::TorchScriptSettings>()) {
    const fs::path program = left ? *left : file_of_job(run, job.model.as<job::TorchScriptSettings>().file);
    if (left) notes = nlohmann::json::parse(models::ForeignModel::notes_in_torchscript(*left), nullptr, false);
    notes = notes_of(state, notes, job);
    model = open_script(program, notes);
  } else {
    const auto& settings = job.model.as<job::CustomSettings>();
    if (left) notes = weights::decode_tensors(read_file(*left), left->string(), weights::Digest::kNone).meta;
    notes = notes_of(state, notes, job);
    model = models::ForeignModel::plugin(models::open_plugin(file_of_job(run, settings.file), settings.options), 0);
  }
  const Network network = network_of(state, model->graph(), model->parameters(), job);
  return save_trained(*model, network, notes, folder);
}

}  // namespace linac::trained
