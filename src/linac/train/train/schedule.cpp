#include "linac/train/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace linac::train {
namespace {

// From 1 at the end of the warm-up to decay_factor_min. Cosine: Loshchilov and Hutter, "SGDR", arXiv:1608.03983.
double decay_factor(const job::Train& train, double epochs_done) {
  const job::Schedule& schedule = train.schedule;
  if (schedule.decay == "none") return 1;
  const double last = schedule.decay_epochs > 0 ? schedule.decay_epochs : train.epochs;
  const double way = last - schedule.warmup_epochs;
  const double part = way > 0 ? std::clamp((epochs_done - schedule.warmup_epochs) / way, 0.0, 1.0) : 1;
  const double low = schedule.decay_factor_min;
  return schedule.decay == "cosine" ? low + (1 - low) * 0.5 * (1 + std::cos(std::numbers::pi * part))
                                    : std::pow(low, part);
}

}  // namespace

double learning_rate(const job::Train& train, int64_t epoch, int64_t step, int64_t steps_per_epoch, int rollbacks) {
  double rate = train.optimizer.lr;
  if (train.schedule.scale_with_replicas == "linear") rate *= train.replicas;
  if (train.schedule.scale_with_replicas == "sqrt") rate *= std::sqrt(train.replicas);
  const double warmup_steps = train.schedule.warmup_epochs * static_cast<double>(steps_per_epoch);
  const double done = static_cast<double>(epoch * steps_per_epoch + step);
  if (done < warmup_steps) rate *= (done + 1) / (warmup_steps + 1);
  for (const job::LearningRateDrop& drop : train.schedule.drops) {
    if (epoch >= drop.epoch) rate *= drop.factor;
  }
  rate *= decay_factor(train, done / static_cast<double>(steps_per_epoch));
  return rate * std::pow(train.collapse.lr_factor, rollbacks);
}

}  // namespace linac::train
