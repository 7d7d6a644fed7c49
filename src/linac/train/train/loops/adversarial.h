#pragma once
// The training of the 3DGAN: in a step the discriminator learns from real and from generated showers, then the
// generator twice. The generator's gradients are nearly all of its first layer, the last that a backward pass comes
// upon, so nothing of the same update could hide their way; but the discriminator does not change any more in the step,
// and learns from the next step's real showers meanwhile. Spread over the workers: each computes its replicas, sums go
// through the fixed tree, every worker applies the same update. What comes out depends on (state, seed, position,
// replicas) and never on the number of workers.

#include <optional>
#include <string>
#include <vector>

#include "linac/model/models/threedgan/threedgan.h"
#include "linac/train/train/exchange/replica_update.h"
#include "linac/train/train/input/shower_input.h"
#include "linac/train/train/loops/evaluation.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/trained/gan_start.h"

namespace linac::train {

class AdversarialLoop : public LoopSteps, public LoopData, public LoopWords {
 public:
  AdversarialLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock);

  std::vector<const graph::Graph*> graphs() const override;
  std::string explain() const override;
  std::string cost() const override;
  std::string start() const override;
  nlohmann::json data() const override;
  nlohmann::json notes() const override;
  int64_t train_events() const override;
  int64_t test_events() const override;
  std::vector<std::string> describe_data() const override;
  double opened_s() const override { return input_.opened_s(); }
  /// The weights are drawn from the job's seed, unless the job goes on from others (train/trained/gan_start.h).
  TrainState initial_state() const override;
  void seek(const TrainState& state) override;
  std::optional<InputPlace> input_place() const override { return place_; }
  void forget_ahead() override;
  /// Losses "d_real/...", "d_fake/..." and "g/...", the last a mean of the two generator updates; none of it in the
  /// steps of train.discriminator_first.
  StepResult step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) override;
  std::vector<UpdateOutline> updates(const TrainState& state, int replicas) const override;
  /// See Evaluation. No loss of the generator before it learns: of an opponent that still knows little it would be the
  /// best of all epochs.
  TestResult test(const TrainState& state, Figures figures) override;
  std::string stage(int64_t epoch, int64_t step) const override;
  int64_t steps_with(const std::string& loss, int64_t epoch, int64_t steps_per_epoch) const override;
  std::string loss_name() const override { return "g/total"; }
  std::string unit() const override { return "showers"; }
  std::vector<Column> columns() const override;
  std::vector<Drawing> drawings(const TrainState& state) const override;
  std::vector<std::string> hand_over(const TrainState& state, const RunFolder& folder) const override;

 private:
  static constexpr size_t kGenerator = 0, kDiscriminator = 1;  // the networks of the state
  static constexpr const char* kGeneratorPrefix = "g/";        // of its losses

  // What is known of a step before its first update; by the replicas of this worker.
  struct Ahead {
    std::vector<data::SampleBatch> batches;
    std::optional<InputPlace> place;
    std::vector<std::optional<models::Contribution>> real;  // the discriminator's, as far as they are computed
    std::vector<RngKey> keys;
  };

  /// Steps of this epoch and all before it in which the discriminator learns alone.
  int64_t alone(int64_t epoch) const;
  Ahead read_ahead(const TrainState& state, int steps);
  models::Contribution on_real(const TrainState& state, const models::threedgan::Batch& batch, const RngKey& key,
                               const graph::GradientReady& ready) const;
  models::threedgan::ThreeDGan::StepOptions options(const RngKey& key, graph::GradientReady ready) const;

  const job::Job& job_;
  const models::threedgan::ThreeDGan model_;
  const trained::GanStart start_;
  ShowerInput input_;
  PhaseClock& clock_;
  ReplicaUpdate update_;
  std::optional<InputPlace> place_;             // of the last step
  std::optional<Ahead> ahead_;                  // of the next step
  std::optional<TestProjections> projections_;  // of the last test
};

}  // namespace linac::train
