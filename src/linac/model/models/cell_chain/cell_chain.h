#pragma once
// One replica's share of a step of a cell_chain, by the likelihood of Monte Carlo showers: of a cell whether it is hit
// and in which class of energy, of a layer its energy. Every function is pure in (weights, rows) and may run in several
// threads at once. docs/guide/physics/cell_chain.md has the model.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "linac/base/job/model_kinds.h"
#include "linac/model/chain/shower_chain.h"
#include "linac/model/chain/training_cells.h"
#include "linac/model/graph/gradient_ready.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/cell_chain/tables.h"
#include "linac/model/models/contribution.h"

namespace linac::models::cell_chain {

/// Nats a shower: all; which cells are hit; the density of the hits' energies, by octaves; that of the layers', by
/// their widths.
inline constexpr std::array<const char*, 4> kLossNames{"loss", "hits", "energies", "layers"};

class CellChain {
 public:
  CellChain(const job::CellChainSettings& settings, int64_t layers);
  ~CellChain();

  /// Both networks, of the cells and of the layers, as one graph of two inputs.
  const graph::Graph& graph() const;
  graph::Parameters initial(uint64_t seed) const;

  /// `shower_weight`: 1 / showers of the global batch; the losses are shares of its. `ready` may be empty.
  Contribution step(const graph::Parameters& parameters, const Tables& tables, chain::TrainingRows rows,
                    double shower_weight, const graph::GradientReady& ready) const;
  /// The same losses without gradient.
  std::vector<float> test(const graph::Parameters& parameters, const Tables& tables, chain::TrainingRows rows,
                          double shower_weight) const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
};

/// The model that draws showers: the tables' scales of the features go into the weights.
chain::ChainParts parts_of(const graph::Parameters& parameters, const Tables& tables);
/// The way back, for tables of any showers: the networks of `parts`, which must be those of the graph, say the same of
/// the same features, whatever these are counted in.
graph::Parameters parameters_of(const graph::Graph& graph, const chain::ChainParts& parts, const Tables& tables);

}  // namespace linac::models::cell_chain
