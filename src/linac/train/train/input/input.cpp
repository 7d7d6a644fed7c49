#include "linac/train/train/input/input.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/storage/read_width.h"
#include "linac/train/train/loops/loop.h"

namespace linac::train {

data::Preprocessing preprocessing(const job::Job& job) {
  if (job.model.is<job::CellChainSettings>()) {  // which learns from GeV
    return {.scale = 1,
            .threshold = job.data.threshold / job.data.scale,
            .min_sum = job.data.min_sum / job.data.scale,
            .power = 1,
            .energy_unit_gev = 1};
  }
  return {.scale = job.data.scale,
          .threshold = job.data.threshold,
          .min_sum = job.data.min_sum,
          .power = job.model.as<job::ThreeDGanSettings>().power};
}

data::Fields fields(const job::Job& job) {
  const job::DataFields& names = job.data.names;
  data::Fields fields{.image = names.image, .energy = names.energy, .angle = names.angle};
  if (job.model.is<job::CellChainSettings>()) fields.numbers = job.model.as<job::CellChainSettings>().entry;
  return fields;
}

int64_t steps_per_epoch(const job::Job& job, int64_t events) {
  if (events < 0) return job.train.steps_per_epoch;
  const int64_t global_batch = job.train.batch * job.train.replicas, whole = events / global_batch;
  if (whole == 0) {
    throw data_error(fmt::format(
        "[data] {} training events are fewer than a global batch of {} (train.replicas {} x train.batch {}); give "
        "more data or lower train.batch",
        events, global_batch, job.train.replicas, job.train.batch));
  }
  return job.train.steps_per_epoch > 0 ? std::min(whole, job.train.steps_per_epoch) : whole;
}

std::string epoch_in_words(const job::Job& job, int64_t events) {
  const int64_t steps = steps_per_epoch(job, events);
  const int64_t left_over = events < 0 ? 0 : events - steps * job.train.batch * job.train.replicas;
  return fmt::format("{} an epoch of {} x {}{}", plural(steps, "step"), plural(job.train.replicas, "replica"),
                     plural(job.train.batch, "event"),
                     left_over == 0
                         ? ""
                         : fmt::format(" ({} of the {} events {} left over, {} in each epoch)", left_over, events,
                                       left_over == 1 ? "is" : "are", left_over == 1 ? "another" : "others"));
}

data::BatchStreamOptions stream_options(const job::Job& job, const TrainState& state, int64_t events,
                                        const std::vector<int>& owned) {
  // After a rollback another order of events, too, leads away from the collapse.
  const uint64_t seed = job.train.seed + static_cast<uint64_t>(state.rollbacks);
  // A place behind the step, which no training writes, would be one that the order cannot go back from.
  const bool is_known = state.input && state.input->seed == seed && state.input->epoch == state.epoch &&
                        state.input->window.first / (job.train.batch * job.train.replicas) <= state.step;
  return {.seed = seed,
          .batch = job.train.batch,
          .replicas = job.train.replicas,
          .owned = owned,
          .steps_per_epoch = steps_per_epoch(job, events),
          .depth = job.data.prefetch.number,
          .window = is_known ? state.input->window : data::WindowPlace{}};
}

void fix_read_width(const job::Job& job) {
  storage::read_width().fix(job.data.prefetch_files.number, job.data.prefetch_reads.number);
}

data::Position stream_position(const TrainState& state) {
  return {static_cast<uint32_t>(state.epoch), static_cast<uint32_t>(state.step)};
}

data::Counts counts_wanted(const job::Job& job) {
  return job.train.steps_per_epoch > 0 ? data::Counts::kNone : data::Counts::kAll;
}

JobOrder order_of(const job::Job& job) {
  const job::Data& data = job.data;
  if (data.shuffle_window > 0) {
    return {data.shuffle_window,
            counts_wanted(job) == data::Counts::kAll
                ? "all are counted first, as train.steps_per_epoch is 0"
                : "an epoch ends after train.steps_per_epoch, and goes on in another order of the files where they end "
                  "before"};
  }
  return {0, data.validation_split > 0                  ? "no window, as data.validation_split needs all of them"
             : job.train.fit.class_balance == "weights" ? "no window, as train.fit.class_balance counts all of them"
                                                        : "data.shuffle_window would read a few files at a time"};
}

std::string order_in_words(const job::Job& job, size_t files) {
  const JobOrder order = order_of(job);
  return order.window == 0 ? fmt::format("order  exact, drawn in each epoch of all events; {}", order.why)
                           : fmt::format("order  windowed, drawn in each epoch: {} at a time, {} in all; {}",
                                         plural(order.window, "file"), files, order.why);
}

models::Numerics numerics_of(const job::Job& job) {
  models::Numerics numerics = models::numerics_of(job.train.kernels, job.train.precision, job.train.device);
  numerics.split = {{job.train.split.x, job.train.split.y, job.train.split.z}};
  return numerics;
}

void need_model_shape(const graph::Shape& image, const data::Dataset& dataset) {
  const data::EventShape wanted{image.at(0), image.at(1), image.at(2)};
  if (dataset.shape() == wanted) return;
  throw user_error(
      fmt::format("[data] {}: images have {} cells and the generator makes {}; networks of your own make other images "
                  "(model.generator and model.discriminator, docs/guide/training.md), and a cell_chain those of its "
                  "calorimeter",
                  dataset.files().front().url, data::to_string(dataset.shape()), data::to_string(wanted)));
}

}  // namespace linac::train
