#pragma once
// One replica's share of a step of a model that learns from labelled events: any Keras graph, its losses and metrics.
// Every function is pure in (weights, batch, key) and may run in several threads at once. Plain floats at the border,
// LibTorch inside.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/graph/gradient_ready.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/graph/split/part_link.h"
#include "linac/model/models/contribution.h"
#include "linac/model/models/foreign_model.h"
#include "linac/model/models/metrics.h"
#include "linac/model/models/not_finite.h"
#include "linac/model/models/numerics.h"

namespace linac::models {

struct SupervisedSettings {
  std::vector<std::string> losses;   // one an output; "output" alone: that of the output called so
  std::vector<double> loss_weights;  // one an output; empty: 1
  std::vector<std::string> metrics;  // model/models/metrics.h
  std::vector<std::string> weighted_metrics;
  std::vector<double> class_weights;  // by class of the first output's target; empty: 1
  double label_smoothing = 0;
  bool from_logits = false;
};

/// The events of one replica, or a slice of them: a buffer an input and one a target, (events, shape...).
struct LabelledEvents {
  int64_t events = 0;
  std::vector<std::span<const float>> inputs, targets;
  /// How much each counts in losses and weighted metrics, or each of its steps, (events, steps); empty: 1.
  std::span<const float> weights;
};

class Supervised {
 public:
  /// User error for a loss or metric that is not known or does not fit the output it is meant for.
  Supervised(graph::Graph graph, SupervisedSettings settings, const Numerics& numerics = {});
  /// The same for somebody else's code, on the CPU.
  Supervised(const ForeignModel& model, SupervisedSettings settings);
  ~Supervised();

  /// How many classes the first output tells apart.
  int64_t classes_of_first() const;
  /// In place of SupervisedSettings::class_weights; as many. Before the first step.
  void weigh_classes(std::vector<double> weights);
  /// Batches come with weights of steps, as many as the first axis of each output that has a loss; user error for
  /// another one. Before the first step.
  void weigh_steps();

  const graph::Graph& graph() const;
  /// What is computed, after the passes.
  std::string explain() const;
  /// How a network in parts is divided, in some lines; else empty.
  std::string division() const;

  /// What the events must have beside the inputs: one for each output that has a target (job::has_target()).
  struct Target {
    size_t output;
    graph::Shape shape;  // without the axis of the events: the output's, or without classes for losses of class indices
  };
  const std::vector<Target>& targets() const;

  /// Order of Contribution::losses and Tested::measures, which are added up: "loss", "OUTPUT_loss" of each output if
  /// there are several (NAME of one called metric_NAME that is a metric itself), then the metrics (those over all
  /// scores apart, which are none of single events), then what metrics are divided by: "weight/OUTPUT", the sums of
  /// weights, of the weighted ones, and "count/METRIC" of ratios (nn::is_ratio).
  const std::vector<std::string>& measures() const;
  /// Of sums or means of measures() what there is to report: weighted metrics and ratios are divided by those sums,
  /// which go. 0 where they add up to 0, as in Keras.
  void divide_by_weights(std::map<std::string, double>& measures) const;
  /// measures() without what is divided by.
  std::vector<std::string> reported() const;
  const std::vector<std::string>& losses() const;  // one an output, by their full names
  const std::vector<Metric>& metrics() const;
  std::vector<Metric> of_all_scores() const;  // those of the metrics, as "auc"

  /// Whether step() tells `ready` anything.
  bool tells_gradients() const;
  /// `event_weight`: 1 / events of the global batch. The losses are shares of the global batch's. `ready` may be empty.
  /// Of a network in parts (Numerics::split) the share of one part: the sum over the parts is the replica's; all parts
  /// of a replica compute it at the same time.
  Contribution step(const graph::Parameters& parameters, const LabelledEvents& batch, const RngKey& key,
                    double event_weight, const graph::GradientReady& ready = {}, graph::PartLink* part = nullptr) const;

  /// Of a step of such a batch and key (not_finite.h).
  std::optional<NotFinite> find_not_finite(const graph::Parameters& parameters, const LabelledEvents& batch,
                                           const RngKey& key) const;

  struct Tested {
    std::vector<float> measures;  // shares, as Contribution::losses
    std::vector<std::vector<float>>
        scores;  // one an output, (events, shape...); empty where no metric over all is wanted
  };
  /// In inference mode, without gradient. The class weights do not count here. Of a network in parts as step(); the
  /// scores are whole on each.
  Tested test(const graph::Parameters& parameters, const LabelledEvents& batch, double event_weight,
              graph::PartLink* part = nullptr) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace linac::models
