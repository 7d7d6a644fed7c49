#include "linac/trained/chain_run.h"

#include <fmt/format.h>

#include "linac/base/error.h"
#include "linac/models/cell_chain/cell_chain.h"
#include "linac/trained/checkpoint_files.h"

namespace linac::trained {

namespace cell_chain = models::cell_chain;

bool is_chain_run(const spec::Job& job) {
  return job.model.is<spec::CellChainSettings>();
}

chain::ChainFile chain_of(const Checkpoint& checkpoint) {
  const auto& settings = checkpoint.job.model.as<spec::CellChainSettings>();
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

}  // namespace linac::trained
