#include "linac/train/monitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "linac/base/error.h"
#include "linac/base/nearest.h"

namespace linac::train {
namespace {

// Calls on_stale each time that `patience` epochs in a row were not better than the best before them.
template <class OnStale>
void watch(const std::string& monitor, int patience, double min_delta, const std::vector<EpochRecord>& history,
           const std::string& loss_name, const OnStale& on_stale) {
  if (patience <= 0) return;
  double best = std::numeric_limits<double>::quiet_NaN();
  int stale = 0;
  for (const EpochRecord& record : history) {
    const double value = monitored(record, monitor, loss_name);
    if (!std::isfinite(best) || better(monitor, value, best, min_delta)) {
      best = value;
      stale = 0;
    } else if (++stale >= patience) {
      on_stale();
      stale = 0;
    }
  }
}

}  // namespace

double monitored(const EpochRecord& record, const std::string& name, const std::string& loss_name) {
  const std::string& measure = name == "loss" ? loss_name : name;
  for (const Measures* measures : {&record.test, &record.train, &record.physics}) {
    if (const auto found = measures->find(measure); found != measures->end()) return found->second;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<Monitor> monitors(const spec::Job& job) {
  return {{"checkpoint.best_by", job.checkpoint.best_by},
          {"train.early_stopping.monitor", job.train.early_stopping.monitor},
          {"train.schedule.plateau.monitor", job.train.schedule.plateau.monitor}};
}

void need_known_monitors(const spec::Job& job, const std::vector<std::string>& known, const std::string& hint) {
  for (const auto& [key, name] : monitors(job)) {
    if (name == "loss" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest(name, known);
    throw user_error(fmt::format("[job] {} = {} is not a measure of this run{} (it has {}; {})", key, name,
                                 near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(known, ", "), hint));
  }
}

bool higher_is_better(const std::string& name) {
  constexpr std::array<std::string_view, 4> kRising{"accuracy", "auc", "cosine_similarity", "r2"};
  return std::any_of(kRising.begin(), kRising.end(), [&](std::string_view rising) { return name.ends_with(rising); });
}

bool better(const std::string& name, double value, double other, double min_delta) {
  return higher_is_better(name) ? value > other + min_delta : value < other - min_delta;
}

bool stopped_early(const spec::EarlyStopping& settings, const std::vector<EpochRecord>& history,
                   const std::string& loss_name) {
  bool stopped = false;
  watch(settings.monitor, settings.patience, settings.min_delta, history, loss_name, [&] { stopped = true; });
  return stopped;
}

double plateau_factor(const spec::Plateau& settings, const std::vector<EpochRecord>& history,
                      const std::string& loss_name) {
  double factor = 1;
  watch(settings.monitor, settings.patience, settings.min_delta, history, loss_name,
        [&] { factor = std::max(settings.factor_min, factor * settings.factor); });
  return factor;
}

}  // namespace linac::train
