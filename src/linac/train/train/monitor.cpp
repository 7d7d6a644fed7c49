#include "linac/train/train/monitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/train/train/schedule.h"

namespace linac::train {
namespace {

// The value of an epoch, if it has one.
std::optional<double> found(const EpochRecord& record, const std::string& name, const std::string& loss_name) {
  const std::string& measure = name == "loss" ? loss_name : name;
  for (const Measures* measures : {&record.test, &record.train, &record.physics})
    if (const auto at = measures->find(measure); at != measures->end()) return at->second;
  return std::nullopt;
}

/// What of the history counts as better, and when it has stood still.
struct Watch {
  const std::string& monitor;
  const std::string& mode;
  int patience;
  double min_delta;
  std::optional<double> baseline = {};  // what does not beat it, too, does not make patience anew
  int cooldown = 0;                     // so many epochs behind each time do not count
};

// Calls on_better(record) for each epoch that is better than all before it, and on_stale() each time that `patience`
// epochs in a row were not.
template <class OnBetter, class OnStale>
void watch(const Watch& by, const std::vector<EpochRecord>& history, const std::string& loss_name,
           const OnBetter& on_better, const OnStale& on_stale) {
  const job::Better direction = direction_of(by.monitor, by.mode, loss_name);
  double best = std::numeric_limits<double>::quiet_NaN();
  int stale = 0, cooling = 0;
  for (const EpochRecord& record : history) {
    const std::optional<double> value = found(record, by.monitor, loss_name);
    if (!value) continue;
    if (cooling > 0) {
      --cooling;
      stale = 0;
    }
    if (!std::isfinite(best) || better(direction, *value, best, by.min_delta)) {
      best = *value;
      stale = !by.baseline || better(direction, *value, *by.baseline, by.min_delta) ? 0 : stale + 1;
      on_better(record);
    } else if (cooling == 0 && ++stale >= by.patience) {
      on_stale();
      stale = 0;
      cooling = by.cooldown;
    }
  }
}

Watch watch_of(const job::EarlyStopping& settings, int patience) {
  return {settings.monitor, settings.mode, patience, settings.min_delta, job::baseline_of(settings)};
}

std::vector<EpochRecord> that_count(const job::EarlyStopping& settings, const std::vector<EpochRecord>& history) {
  std::vector<EpochRecord> counted;
  std::copy_if(history.begin(), history.end(), std::back_inserter(counted),
               [&](const EpochRecord& record) { return record.epoch >= settings.start_from_epoch; });
  return counted;
}

std::optional<job::Better> known_direction(const std::string& name, const std::string& mode,
                                           const std::string& loss_name) {
  if (mode != "auto") return mode == "max" ? job::Better::kHigher : job::Better::kLower;
  if (name != "loss") return job::better_of(name);
  return job::better_of(loss_name).value_or(job::Better::kLower);
}

}  // namespace

double monitored(const EpochRecord& record, const std::string& name, const std::string& loss_name) {
  return found(record, name, loss_name).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::vector<Monitor> monitors(const job::Job& job) {
  const job::EarlyStopping& stopping = job.train.early_stopping;
  const job::Plateau& plateau = job.train.schedule.plateau;
  return {{"checkpoint.best_by", job.checkpoint.best_by, "checkpoint.best_mode", job.checkpoint.best_mode},
          {"train.early_stopping.monitor", stopping.monitor, "train.early_stopping.mode", stopping.mode},
          {"train.schedule.plateau.monitor", plateau.monitor, "train.schedule.plateau.mode", plateau.mode}};
}

void need_known_monitors(const job::Job& job, const std::vector<std::string>& known, const std::string& hint) {
  for (const auto& [key, name, mode_key, mode] : monitors(job)) {
    if (name == "loss" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    // Keras's val_loss.
    const bool of_test = name.starts_with("val_");
    const std::string wanted = of_test ? name.substr(4) : name;
    std::vector<std::string> names = known;
    names.emplace_back("loss");
    const auto near = nearest(wanted, names);
    throw user_error(fmt::format("[job] {} = {} is not a measure of this run{}{} (it has {}; {})", key, name,
                                 of_test ? "; here measures are those of the test data, without val_" : "",
                                 near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(known, ", "), hint));
  }
}

void need_directions(const job::Job& job, const std::string& loss_name) {
  for (const auto& [key, name, mode_key, mode] : monitors(job)) {
    if (known_direction(name, mode, loss_name)) continue;
    throw user_error(fmt::format(
        "[job] {} = {}: whether less or more of it is better is not known; set {} to min or max", key, name, mode_key));
  }
}

job::Better direction_of(const std::string& name, const std::string& mode, const std::string& loss_name) {
  const auto direction = known_direction(name, mode, loss_name);
  LINAC_CHECK(direction.has_value());
  return *direction;
}

bool better(job::Better direction, double value, double other, double min_delta) {
  return direction == job::Better::kHigher ? value > other + min_delta : value < other - min_delta;
}

bool stopped_early(const job::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                   const std::string& loss_name) {
  if (settings.patience == job::kNever) return false;
  bool stopped = false;
  watch(
      watch_of(settings, settings.patience), that_count(settings, history), loss_name, [](const EpochRecord&) {},
      [&] { stopped = true; });
  return stopped;
}

std::optional<int64_t> restored_epoch(const job::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                                      const std::string& loss_name) {
  std::optional<int64_t> epoch;
  watch(
      watch_of(settings, 0), that_count(settings, history), loss_name,
      [&](const EpochRecord& record) { epoch = record.epoch; }, [] {});
  return epoch;
}

std::optional<int64_t> handed_over_epoch(const job::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                                         const std::string& loss_name) {
  return settings.restore_best ? restored_epoch(settings, history, loss_name) : std::nullopt;
}

bool restores_best(const job::Job& job, const std::string& loss_name) {
  const job::EarlyStopping& settings = job.train.early_stopping;
  const auto measure = [&](const std::string& name) { return name == "loss" ? loss_name : name; };
  return settings.min_delta == 0 && settings.start_from_epoch == 0 &&
         measure(settings.monitor) == measure(job.checkpoint.best_by) &&
         direction_of(settings.monitor, settings.mode, loss_name) ==
             direction_of(job.checkpoint.best_by, job.checkpoint.best_mode, loss_name);
}

double plateau_factor(const job::Plateau& settings, const std::vector<EpochRecord>& history,
                      const std::string& loss_name) {
  double factor = 1;
  if (settings.patience == job::kNever) return factor;
  const Watch by{settings.monitor, settings.mode, settings.patience, settings.min_delta, {}, settings.cooldown};
  watch(
      by, history, loss_name, [](const EpochRecord&) {},
      [&] { factor = std::max(settings.factor_min, factor * settings.factor); });
  return factor;
}

double rate_of_step(const job::Train& train, const TrainState& state, int64_t steps_per_epoch,
                    const std::string& loss_name) {
  return learning_rate(train, state.epoch, state.step, steps_per_epoch, state.rollbacks) *
         plateau_factor(train.schedule.plateau, state.history, loss_name);
}

}  // namespace linac::train
