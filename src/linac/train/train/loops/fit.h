#pragma once
// The training of a model on labelled events (Keras calls it fit): any Keras file, the Inclusive Classifier, any
// module of PyTorch, or a class of a plug-in. Spread over the workers like the adversarial loop: what comes out never
// depends on their number.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/model/keras/compile.h"
#include "linac/model/models/supervised.h"
#include "linac/train/train/exchange/replica_update.h"
#include "linac/train/train/input/table_input.h"
#include "linac/train/train/loops/fit_start.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/trained/compiled_job.h"

namespace linac::train {

class FitLoop : public LoopSteps, public LoopData, public LoopWords {
 public:
  /// Opens the job's files. Data error where a target lies outside of what its loss is defined for, or no event has a
  /// weight.
  FitLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock, FitStart start);

  std::vector<const graph::Graph*> graphs() const override;
  std::string explain() const override;
  std::string cost() const override;
  nlohmann::json data() const override;
  std::function<double()> read_share() const override;
  nlohmann::json notes() const override;
  nlohmann::json model_notes() const;
  std::vector<job::OutputClasses> classes() const override;
  int64_t train_events() const override;
  std::optional<InputPlace> input_place() const override { return input_.place(); }
  int64_t test_events() const override;
  std::vector<std::string> describe_data() const override;
  double opened_s() const override { return input_.opened_s(); }
  /// The weights of the file, or drawn from the job's seed.
  TrainState initial_state() const override;
  void seek(const TrainState& state) override;
  /// Measures "loss", "accuracy", ... (model/models/supervised.h).
  bool changes_at_once() const override { return true; }
  StepResult step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) override;
  std::vector<UpdateOutline> updates(const TrainState& state, int replicas) const override;
  /// The same measures in inference, and the outputs' metrics over all scores, as "auc": the mean over the classes of
  /// each one's against the rest.
  TestResult test(const TrainState& state, Figures figures) override;
  Measures reported(Measures means) const override;
  std::string loss_name() const override { return "loss"; }
  std::string unit() const override { return "events"; }
  std::vector<Column> columns() const override;
  std::vector<Drawing> drawings(const TrainState& state) const override;
  std::vector<std::string> hand_over(const TrainState& state, const RunFolder& folder) const override;

 private:
  static constexpr size_t kModel = 0;  // the network of the state

  std::vector<data::ColumnRequest> columns_read() const;
  std::vector<data::ColumnRequest> targets() const;  // as the files have them
  std::vector<data::ColumnRequest> targets_among(const std::vector<data::ColumnRequest>& columns) const;
  models::Contribution contribution(const TrainState& state, const data::TableBatch& batch, int piece,
                                    const graph::GradientReady& ready);
  /// What of a replica's contribution is not finite, for people; empty if all is.
  std::string broken_part(const models::Contribution& contribution, const Network& network) const;
  StepResult::Cause cause_of(const TrainState& state, const std::vector<data::TableBatch>& batches,
                             const std::vector<std::string>& broken);
  void need_known_measures() const;
  void need_fitting_values(const data::EventTable& table) const;
  void warn_of_classes() const;
  void warn_of_weights() const;
  void warn_of_logits() const;
  void warn_of_optimizer() const;
  bool weighs_steps() const;
  void balance_classes();
  keras::Compilation compilation(const std::vector<size_t>& outputs) const;
  std::filesystem::path save_keras(const Network& network, const nlohmann::json& notes,
                                   const std::filesystem::path& folder) const;

  const job::Job& job_;
  const Network start_;  // before the first step
  const FitStart::Remarks remarks_;
  const std::optional<models::ForeignModel> foreign_;  // somebody else's code
  models::Supervised model_;
  TableInput input_;
  std::vector<std::string> class_weights_;  // those that the job left to the data, for people
  PhaseClock& clock_;
  ReplicaUpdate update_;
};

}  // namespace linac::train
