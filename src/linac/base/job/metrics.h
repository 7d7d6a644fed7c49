#pragma once
// The table of what a run measures, and whether less of it is better, or more. Pure, thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linac::job {

enum class Better { kLower, kHigher };

struct Metric {
  const char* name;
  Better better;
  enum class Of {
    kFit,      // a job may name it in train.fit.metrics: model/nn/losses.h computes it
    kRun,      // other numbers of a training
    kPhysics,  // families of figures, "ks" of "ks.response" (physics/physics/comparison.h)
  } of;
  /// Whether Keras's compile() has a metric that computes alike (model/keras/compile.h writes it). Others are left out
  /// of written models, which Keras would refuse to load.
  enum class InKeras { kNo, kYes } in_keras = InKeras::kNo;
  /// Of kFit, what it is computed from: each event alone, or the scores of all events at once, whose order counts
  /// (physics/scores/roc.h computes it).
  enum class From { kEvents, kAllScores } from = From::kEvents;
  /// Whether targets that are class numbers do, as those of sparse losses, or it needs a value for each class.
  enum class Targets { kValues, kClassNumbers } targets = Targets::kValues;
};
const std::vector<Metric>& metrics();

/// Those of train.fit.metrics.
std::vector<std::string> fit_metrics();
/// Whether a written model may name it for Keras; not if it is not in the table.
bool keras_has_metric(std::string_view name);
/// Whether it is one over the scores of all events; not if it is not in the table.
bool is_of_all_scores(std::string_view name);
/// Whether its targets may be class numbers; not if it is not in the table.
bool takes_class_numbers(std::string_view name);

/// What is better of a measure as a run reports it: "auc", "OUTPUT_weighted_auc", "g/total", "ks.response". Nothing for
/// one that is not in the table.
std::optional<Better> better_of(std::string_view measure);

}  // namespace linac::job
