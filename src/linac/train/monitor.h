#pragma once
// What a run watches of its epochs: which one is the best, whether it goes on, whether the rate should fall. All of it
// follows from the history, so a resumed run decides alike. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/spec/job.h"
#include "linac/train/state.h"

namespace linac::train {

/// The value called `name` of an epoch: "loss" (the measure `loss_name`), a measure of the test data (else of
/// training), or a physics figure. NaN if there is none.
double monitored(const EpochRecord& record, const std::string& name, const std::string& loss_name);

/// The settings of a job that name something to watch, and what they name.
struct Monitor {
  std::string key, name;  // "checkpoint.best_by", "auc"
};
std::vector<Monitor> monitors(const spec::Job& job);

/// User error if the job watches something else than `known` or "loss": early, so that no run fails at the end of its
/// first epoch. `hint`: how to have more.
void need_known_monitors(const spec::Job& job, const std::vector<std::string>& known, const std::string& hint);

/// Accuracies, areas under curves and the like rise; all else falls.
bool higher_is_better(const std::string& name);
/// Whether `value` of what `name` names is better than `other` by more than `min_delta`.
bool better(const std::string& name, double value, double other, double min_delta = 0);

/// As Keras's EarlyStopping: `patience` epochs in a row brought nothing better. patience 0: never.
bool stopped_early(const spec::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                   const std::string& loss_name);

/// As Keras's ReduceLROnPlateau: `factor` for each time that `patience` epochs in a row brought nothing better, but not
/// below `factor_min`. patience 0: 1.
double plateau_factor(const spec::Plateau& settings, const std::vector<EpochRecord>& history,
                      const std::string& loss_name);

}  // namespace linac::train
