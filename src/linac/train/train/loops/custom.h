#pragma once
// A training that a plug-in defines: its networks and the updates of a step. Spread over the workers like the other
// loops: what comes out never depends on their number.

#include <memory>
#include <string>
#include <vector>

#include "linac/model/models/custom_training.h"
#include "linac/train/train/exchange/replica_update.h"
#include "linac/train/train/input/table_input.h"
#include "linac/train/train/loops/loop.h"

namespace linac::train {

class CustomLoop : public LoopSteps, public LoopData, public LoopWords {
 public:
  CustomLoop(const job::Job& job, std::shared_ptr<const plugin::Library> library, comm::Group& group,
             const Computing& computing, PhaseClock& clock);

  std::vector<const graph::Graph*> graphs() const override;
  std::string explain() const override;
  std::string cost() const override;
  nlohmann::json data() const override { return input_.json(); }
  std::function<double()> read_share() const override { return input_.read_share(); }
  int64_t train_events() const override { return input_.train_events(); }
  std::optional<InputPlace> input_place() const override { return input_.place(); }
  int64_t test_events() const override { return input_.test_events(); }
  std::vector<std::string> describe_data() const override { return input_.describe(); }
  TrainState initial_state() const override;
  void seek(const TrainState& state) override {
    update_.take_place(state);
    input_.seek(state, update_.owned());
  }
  /// Losses "UPDATE/LOSS"; of an update that comes several times the mean.
  StepResult step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) override;
  std::vector<UpdateOutline> updates(const TrainState& state, int replicas) const override;
  /// The plug-in's measures.
  TestResult test(const TrainState& state, Figures figures) override;
  std::string loss_name() const override;
  std::string unit() const override { return "events"; }
  std::vector<Column> columns() const override;
  std::vector<Drawing> drawings(const TrainState& state) const override;
  std::vector<std::string> hand_over(const TrainState& state, const RunFolder& folder) const override;

 private:
  std::vector<data::ColumnRequest> columns_read() const;
  std::vector<std::string> measures() const;

  const job::Job& job_;
  const models::CustomTraining training_;
  TableInput input_;
  PhaseClock& clock_;
  ReplicaUpdate update_;
};

}  // namespace linac::train
