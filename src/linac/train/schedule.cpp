#include "linac/train/schedule.h"

#include <algorithm>
#include <cmath>

namespace linac::train {

double learning_rate(const spec::Train& train, int64_t epoch, int64_t step, int64_t steps_per_epoch, int rollbacks) {
  double rate = train.optimizer.lr;
  if (train.schedule.scale_with_replicas == "linear") rate *= train.replicas;
  if (train.schedule.scale_with_replicas == "sqrt") rate *= std::sqrt(train.replicas);
  const double warmup_steps = train.schedule.warmup_epochs * static_cast<double>(steps_per_epoch);
  const double done = static_cast<double>(epoch * steps_per_epoch + step);
  if (done < warmup_steps) rate *= (done + 1) / (warmup_steps + 1);
  for (const spec::LearningRateDrop& drop : train.schedule.drops) {
    if (epoch >= drop.epoch) rate *= drop.factor;
  }
  return rate * std::pow(train.collapse.lr_factor, rollbacks);
}

}  // namespace linac::train
