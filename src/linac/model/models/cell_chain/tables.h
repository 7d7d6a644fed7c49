#pragma once
// What a cell_chain takes from its training showers before its first step: units, the mean shower, scales of energies
// and of features. They travel in checkpoints as a network without trainable weights, so a step follows from the state
// alone. Values; pure, thread-safe functions.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "linac/base/base/range.h"
#include "linac/base/job/model_kinds.h"
#include "linac/model/chain/shower_chain.h"
#include "linac/model/chain/training_cells.h"
#include "linac/model/graph/parameters.h"
#include "linac/physics/physics/geometry.h"

namespace linac::models::cell_chain {

struct Tables {
  chain::Surroundings around;
  chain::LayerScale scale;
  std::vector<float> empty;                        // of each layer, the part of the showers without energy in it
  std::vector<float> edges;                        // of the classes, log2 of GeV
  std::vector<float> feature_mean, feature_width;  // what the cells' network counts its inputs in
};

/// Cells and sensors; the middle depth is not known from them. Lengths in cells.
chain::Detector detector_of(const physics::Geometry& geometry);

/// The showers that the tables come from. `read` fills `image` with GeV; the result borrows it.
struct TableShowers {
  int64_t showers = 0;
  Range energies_gev;  // of all
  std::function<chain::MonteCarloShower(int64_t shower, std::vector<float>& image)> read;
};

/// What the weights of a trained model count in. It stays with them when they go on to showers of another calorimeter.
struct Kept {
  chain::Units units;
  std::vector<float> edges;
};
Kept kept_of(const chain::ChainParts& parts);

/// Of some thousands of the showers, spread evenly: the same whoever computes it; but for what is kept, whose outermost
/// classes are widened to where these showers have hits. Data error if they are without energy, or if most do not enter
/// where their image is.
Tables derive_tables(const job::CellChainSettings& settings, const chain::Detector& detector,
                     const TableShowers& showers, const Kept* kept = nullptr);

/// All values 0.
graph::Parameters no_tables(const job::CellChainSettings& settings, const chain::Detector& detector);
graph::Parameters to_parameters(const job::CellChainSettings& settings, const Tables& tables);
/// Of parameters like those.
Tables tables_of(const job::CellChainSettings& settings, const graph::Parameters& parameters);

/// How many values each layer has one of, in the tables' names: what tells the number of layers.
inline constexpr const char* kDepthTable = "sensor_depth";

}  // namespace linac::models::cell_chain
