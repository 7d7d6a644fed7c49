#pragma once
// The training of a cell_chain: in a step both networks learn from the cells and layers of the step's showers, in one
// update. Tables that come from the data (model/models/cell_chain/tables.h) are made before the first step and travel
// in the state. Spread over the workers like the other loops: what comes out never depends on their number.

#include <optional>
#include <string>
#include <vector>

#include "linac/model/chain/chain_file.h"
#include "linac/model/models/cell_chain/cell_chain.h"
#include "linac/physics/physics/geometry.h"
#include "linac/train/train/exchange/replica_update.h"
#include "linac/train/train/input/shower_input.h"
#include "linac/train/train/loops/loop.h"

namespace linac::train {

class ChainLoop : public LoopSteps, public LoopData, public LoopWords {
 public:
  /// Data error for showers of another size than the geometry's, or of primaries that the model cannot take.
  ChainLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock);

  std::vector<const graph::Graph*> graphs() const override { return {&model_.graph()}; }
  std::string explain() const override;
  std::string cost() const override;
  std::string start() const override;
  nlohmann::json data() const override { return input_.json(); }
  nlohmann::json notes() const override;
  int64_t train_events() const override { return input_.train_events(); }
  int64_t test_events() const override { return input_.test() ? input_.test()->size() : 0; }
  std::vector<std::string> describe_data() const override { return input_.describe(); }
  double opened_s() const override { return input_.opened_s(); }
  /// Networks by the job's seed or those that it goes on from, and the tables, for which some thousand showers are
  /// read.
  TrainState initial_state() const override;
  void seek(const TrainState& state) override;
  bool changes_at_once() const override { return true; }
  /// Losses as model/models/cell_chain/cell_chain.h names them.
  StepResult step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) override;
  std::vector<UpdateOutline> updates(const TrainState& state, int replicas) const override;
  /// The same losses on the test showers, always with the same random numbers; figures of showers that are drawn at
  /// their energies and angles.
  TestResult test(const TrainState& state, Figures figures) override;
  std::string loss_name() const override { return models::cell_chain::kLossNames[0]; }
  std::string unit() const override { return "showers"; }
  std::vector<Column> columns() const override;
  std::vector<Drawing> drawings(const TrainState& state) const override;
  std::vector<std::string> hand_over(const TrainState& state, const RunFolder& folder) const override;

 private:
  models::cell_chain::Tables tables(const TrainState& state) const;
  chain::MonteCarloShower shower(const data::SampleBatch& batch, size_t event) const;
  chain::TrainingRows rows(const models::cell_chain::Tables& tables, const data::SampleBatch& batch, const RngKey& key,
                           bool mirror) const;
  struct Share;
  void test_chunk(const TrainState& state, const models::cell_chain::Tables& tables, int64_t number,
                  Share& share) const;

  const job::Job& job_;
  const job::CellChainSettings& settings_;
  const physics::Geometry geometry_;
  const chain::Detector detector_;
  const models::cell_chain::CellChain model_;
  const std::optional<chain::ChainFile> start_;
  ShowerInput input_;
  PhaseClock& clock_;
  ReplicaUpdate update_;
};

}  // namespace linac::train
