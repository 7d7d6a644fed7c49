#pragma once
// What a run watches of its epochs: which one is the best, whether it goes on, whether the rate should fall. All of it
// follows from the history, so a resumed run decides alike. Pure, thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/metrics.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// The value called `name` of an epoch: "loss" (the measure `loss_name`), a measure of the test data (else of
/// training), or a physics figure. NaN if there is none.
double monitored(const EpochRecord& record, const std::string& name, const std::string& loss_name);

/// The settings of a job that name something to watch, what they name, and the settings that say what is better.
struct Monitor {
  std::string key, name;  // "checkpoint.best_by", "auc"
  std::string mode_key, mode;
};
std::vector<Monitor> monitors(const job::Job& job);

/// User error if the job watches something else than `known` or "loss": early, so that no run fails at the end of its
/// first epoch. `hint`: how to have more.
void need_known_monitors(const job::Job& job, const std::vector<std::string>& known, const std::string& hint);
/// User error if it is not known of one of them whether less or more is better.
void need_directions(const job::Job& job, const std::string& loss_name);

/// As `mode` says ("min", "max"), else ("auto") as the table base/job/metrics.h knows the measure that `name` stands
/// for; a "loss" that is not in it falls. need_directions() has been asked.
job::Better direction_of(const std::string& name, const std::string& mode, const std::string& loss_name);
/// Whether `value` is better than `other` by more than `min_delta`.
bool better(job::Better direction, double value, double other, double min_delta = 0);

/// As Keras's EarlyStopping: `patience` epochs in a row brought nothing better; 0 is as 1. An epoch without the measure
/// does not count. Otherwise than there a first value that is not a number is no best one.
bool stopped_early(const job::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                   const std::string& loss_name);

/// As its restore_best_weights: the epoch whose networks are handed over where `settings` ask for it; nothing if no
/// epoch has the measure.
std::optional<int64_t> restored_epoch(const job::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                                      const std::string& loss_name);
/// The same where the job asks for it (restore_best), else nothing: then the last epoch's are.
std::optional<int64_t> handed_over_epoch(const job::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                                         const std::string& loss_name);
/// Whether that is always the epoch of the best checkpoint.
bool restores_best(const job::Job& job, const std::string& loss_name);

/// As Keras's ReduceLROnPlateau: `factor` for each time that `patience` epochs in a row brought nothing better, but not
/// below `factor_min`. patience 0 is as 1.
double plateau_factor(const job::Plateau& settings, const std::vector<EpochRecord>& history,
                      const std::string& loss_name);

/// The learning rate of the step that a state stands before: schedule.h times that factor.
double rate_of_step(const job::Train& train, const TrainState& state, int64_t steps_per_epoch,
                    const std::string& loss_name);

}  // namespace linac::train
