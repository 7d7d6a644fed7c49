#pragma once
// What `linac evaluate` shows: the scores of one or two models on labelled events, or those of folds with their mean
// and spread, as a page, as JSON, as pictures and as lines of text. Presentation only; the numbers come from
// physics/scores/. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "linac/physics/report/page/named_picture.h"
#include "linac/physics/scores/classification.h"
#include "linac/physics/scores/folds.h"
#include "linac/physics/scores/regression.h"
#include "linac/physics/scores/task.h"

namespace linac::report {

/// What events count, where they count different.
struct WeightFacts {
  double sum = 0, effective = 0;  // effective: scores::effective_events()
  int64_t below_zero = 0;
};

/// Of models that are judged together, each on events of its own or all on the same ones.
struct FoldFacts {
  std::vector<int64_t> events;  // of each
  bool same_events = false;
  scores::FoldFigures figures;
};

struct ScoreReport {
  scores::Task task = scores::Task::kClasses;
  std::string title;
  std::vector<std::string> models;  // one or two names, or those of the folds, as in the judgement
  std::vector<std::string> parts;   // names of the classes, labels, or outputs of a regression
  std::vector<int64_t> support;     // events of each class or with each label; empty for a regression
  int64_t events = 0;
  bool of_steps = false;  // the events are steps of sequences
  int replicas = 0;       // behind the uncertainties
  std::optional<WeightFacts> weights{};
  std::optional<FoldFacts> folds{};
  std::variant<scores::ClassifierJudgement, scores::RegressionJudgement> judgement;
  std::vector<std::pair<std::string, std::string>> facts;  // files, dates, versions
  std::vector<std::string> remarks;                        // what a reader must know

  bool compares() const { return models.size() == 2 && !folds; }
  /// The scores of a model and the difference of two (empty for one).
  const std::vector<scores::Score>& scores_of(size_t model) const;
  const std::vector<scores::Score>& difference() const;
  /// Scores that there are none of under these weights.
  const std::vector<scores::ScoreName>& left_out() const;
  /// Classes with curves of their own: those with events; of two classes that one number tells apart the second. Labels
  /// that some events have and others have not.
  std::vector<size_t> shown_classes() const;
};

/// Of two models or more that were judged one by one, with the same task and parts: their scores with mean and spread.
/// The events of folds add up; `same_events` are counted once. Without title and facts.
ScoreReport over_folds(std::vector<ScoreReport> folds, bool same_events);

/// ROC and rejection curves, confusion matrices, reliability, distributions of the scores; or the residuals. Of folds
/// ROC and rejection curves with their mean, and one confusion matrix, all decisions added up. Environment error where
/// there is no memory for a picture.
std::vector<NamedPicture> draw(const ScoreReport& report);

/// One self-contained page (UTF-8) that opens offline, with every text escaped.
std::string to_html(const ScoreReport& report, const std::vector<NamedPicture>& pictures);

/// Schema: {"task": "classification"|"labels"|"regression", "events", "parts": [names], "support": [events],
/// "replicas", "weights": null|{"sum", "effective_events", "below_zero"}, "left_out": [{"name", "part"}], "facts",
/// "remarks", "models": [{"name", "scores": [SCORE], ...}]} with SCORE {"name",
/// "part": null|name, "value", "error", "low", "high", "above_95"}. A classifier has also "confusion":
/// [truth][decision], or of labels [label][truth][decision], and "classes": [{"name", "auc_delong_error", "roc":
/// {"fpr", "tpr", "threshold"}, "roc_band": {"fpr", "tpr_low", "tpr_high"}, "reliability": {"events", "predicted",
/// "observed"}, "distributions": [true class][bin]}], of labels [without, with][bin]; a regression "residuals":
/// [{"name", "low", "high", "counts", "below", "above"}]. With two models "difference": [SCORE], for classifiers also
/// "auc_difference_delong_errors". Of folds "folds": {"events": [of each model], "same_events", "scores": [{"name",
/// "part", "mean", "deviation"}], "classes": [{"name", "roc": {"fpr", "tpr_mean", "tpr_deviation"}}]}. NaN and infinity
/// are null.
nlohmann::ordered_json to_json(const ScoreReport& report);

/// The tables for a terminal.
std::string to_text(const ScoreReport& report);

}  // namespace linac::report
