#include "linac/train/trained/chain_run.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/model/models/cell_chain/cell_chain.h"
#include "linac/train/trained/checkpoint_files.h"

namespace linac::trained {

namespace cell_chain = models::cell_chain;

namespace {

chain::ChainFile load_start(const std::string& file) {
  if (chain::is_chain_file(file)) return chain::load_chain(file);
  const Checkpoint checkpoint = load_checkpoint(file);
  if (is_chain_run(checkpoint.job)) return chain_of(checkpoint);
  throw user_error(fmt::format(
      "[cell_chain] {}: a checkpoint of model.kind = {}; a cell_chain goes on from one of its kind, or from "
      "a .chain file",
      file, checkpoint.job.model.kind()));
}

// A setting of the job, and what it is in the model.
struct Compared {
  const char* key;
  double job, model;
};

}  // namespace

bool is_chain_run(const job::Job& job) {
  return job.model.is<job::CellChainSettings>();
}

chain::ChainFile chain_of(const Checkpoint& checkpoint) {
  const auto& settings = checkpoint.job.model.as<job::CellChainSettings>();
  const auto depths = checkpoint.file.tensors.find(value_name(kChainTables, "weights", cell_chain::kDepthTable));
  if (depths == checkpoint.file.tensors.end() || depths->second.empty())
    throw data_error(
        fmt::format("[model] {}: a checkpoint of a cell_chain without its sensors", checkpoint.path.string()));
  graph::Parameters tables = cell_chain::no_tables(settings, {.cells = {}, .sensor_depth = depths->second});
  fill(checkpoint.file, kChainTables, tables);
  const cell_chain::CellChain model(settings, static_cast<int64_t>(depths->second.size()));
  graph::Parameters weights = graph::Parameters::of(model.graph());
  fill(checkpoint.file, kChainNetwork, weights);
  return {cell_chain::parts_of(weights, cell_chain::tables_of(settings, tables)), checkpoint.range};
}

std::optional<chain::ChainFile> chain_start_of(const job::Job& job, int64_t layers) {
  const auto& settings = job.model.as<job::CellChainSettings>();
  if (settings.file.empty()) return std::nullopt;
  chain::ChainFile start = load_start(settings.file);
  const chain::ChainParts& parts = start.parts;
  const chain::ShowerChain whole(parts, settings.file);  // or it does not fit together
  if (whole.shape().z != layers) {
    throw user_error(
        fmt::format("[cell_chain] {}: has {} layers, and the calorimeter of model.geometry {}; its networks know the "
                    "layers by their number: take a geometry of {}, or leave model.from out and train from nothing",
                    settings.file, whole.shape().z, layers, whole.shape().z));
  }
  const auto number = [](auto value) { return static_cast<double>(value); };
  for (const auto& [key, wanted, found] : {
           Compared{"model.hidden", number(settings.hidden), number(parts.network.cell.outputs())},
           Compared{"model.hidden", number(settings.hidden), number(parts.network.hidden.outputs())},
           Compared{"model.hidden", number(settings.hidden), number(parts.network.energy_hidden.outputs())},
           Compared{"model.layer_hidden", number(settings.layer_hidden), number(parts.layer_energy.in().outputs())},
           Compared{"model.layer_hidden", number(settings.layer_hidden), number(parts.layer_energy.hidden().outputs())},
           Compared{"model.classes", number(settings.classes), number(parts.network.energy.outputs())},
           Compared{"model.components", number(settings.components),
                    number(parts.layer_energy.out().outputs() - 1) / 3},
           Compared{"model.core_cells", settings.core_cells, number(parts.rings.core)},
           Compared{"model.ring_cells", settings.ring_cells, number(parts.rings.ring)},
           Compared{"model.memory", settings.memory, number(parts.memory)},
       }) {
    if (static_cast<float>(wanted) == static_cast<float>(found)) continue;
    throw user_error(
        fmt::format("[cell_chain] {}: has {} = {:g}, and the job says {:g}; its weights have no other meaning: set "
                    "{}={:g}, or leave model.from out and train from nothing",
                    settings.file, key, found, wanted, key, found));
  }
  return start;
}

}  // namespace linac::trained
