#include "linac/train/input.h"

#include <fmt/format.h>

#include "linac/base/error.h"
#include "linac/base/plural.h"
#include "linac/train/loop.h"

namespace linac::train {

data::Preprocessing preprocessing(const spec::Job& job) {
  return {.scale = job.data.scale,
          .threshold = job.data.threshold,
          .min_sum = job.data.min_sum,
          .power = job.model.as<spec::ThreeDGanSettings>().power};
}

std::shared_ptr<const data::Dataset> open_dataset(const spec::Job& job, const std::vector<std::string>& urls) {
  const spec::DataFields& names = job.data.names;
  return data::Dataset::open(urls, {.image = names.image, .energy = names.energy, .angle = names.angle},
                             preprocessing(job));
}

int64_t steps_per_epoch(const spec::Job& job, int64_t events) {
  const int64_t global_batch = job.train.batch * job.train.replicas, whole = events / global_batch;
  if (whole == 0) {
    throw data_error(fmt::format(
        "[data] {} training events are fewer than a global batch of {} (train.replicas {} x train.batch {}); give "
        "more data or lower train.batch",
        events, global_batch, job.train.replicas, job.train.batch));
  }
  return job.train.steps_per_epoch > 0 ? std::min(whole, job.train.steps_per_epoch) : whole;
}

std::string epoch_in_words(const spec::Job& job, int64_t events) {
  const int64_t steps = steps_per_epoch(job, events);
  const int64_t left_over = events - steps * job.train.batch * job.train.replicas;
  return fmt::format("{} an epoch of {} x {}{}", plural(steps, "step"), plural(job.train.replicas, "replica"),
                     plural(job.train.batch, "event"),
                     left_over == 0
                         ? ""
                         : fmt::format(" ({} of the {} events {} left over, {} in each epoch)", left_over, events,
                                       left_over == 1 ? "is" : "are", left_over == 1 ? "another" : "others"));
}

data::BatchStreamOptions stream_options(const spec::Job& job, const TrainState& state, int64_t events,
                                        const std::vector<int>& owned) {
  // After a rollback another order of events, too, leads away from the collapse.
  return {.seed = job.train.seed + static_cast<uint64_t>(state.rollbacks),
          .batch = job.train.batch,
          .replicas = job.train.replicas,
          .owned = owned,
          .steps_per_epoch = steps_per_epoch(job, events),
          .depth = job.data.prefetch};
}

data::Position stream_position(const TrainState& state) {
  return {static_cast<uint32_t>(state.epoch), static_cast<uint32_t>(state.step)};
}

models::Numerics numerics_of(const spec::Job& job) {
  return models::numerics_of(job.train.kernels, job.train.precision, job.train.device);
}

void need_model_shape(const graph::Shape& image, const data::Dataset& dataset) {
  const data::EventShape wanted{image.at(0), image.at(1), image.at(2)};
  if (dataset.shape() == wanted) return;
  throw user_error(
      fmt::format("[data] {}: images have {} cells and the generator makes {}; choose other data or "
                  "another model",
                  dataset.files().front().url, data::to_string(dataset.shape()), data::to_string(wanted)));
}

}  // namespace linac::train
