#pragma once
// The job's settings as calls of the modules below. Pure but for reading files.

#include <memory>
#include <string>

#include "linac/base/job/job.h"
#include "linac/io/data/dataset.h"
#include "linac/io/data/order/batch_stream.h"
#include "linac/io/data/order/windowed_table.h"
#include "linac/model/graph/graph.h"
#include "linac/model/models/numerics.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

data::Fields fields(const job::Job& job);

/// How this process reads files from now on, as far as the job says it (data.prefetch_files, data.prefetch_reads).
void fix_read_width(const job::Job& job);

/// How a worker that carries the replicas `owned` reads a set of `events`, and where it goes on.
data::BatchStreamOptions stream_options(const job::Job& job, const TrainState& state, int64_t events,
                                        const std::vector<int>& owned);
data::Position stream_position(const TrainState& state);

/// What data.shuffle_window wants counted before the first step.
data::Counts counts_wanted(const job::Job& job);
/// Which order the job's events get: in windows of so many files, or exact, one of all events (0).
struct JobOrder {
  int window = 0;
  std::string why;  // what follows from it, or why there are no windows
};
JobOrder order_of(const job::Job& job);
/// The same as a line for people. `files`: of data.train.
std::string order_in_words(const job::Job& job, size_t files);

/// The job's train.kernels, train.precision and train.device.
models::Numerics numerics_of(const job::Job& job);

/// User error if the images are not of the generator's size (x, y, z, 1).
void need_model_shape(const graph::Shape& image, const data::Dataset& dataset);

data::Preprocessing preprocessing(const job::Job& job);

}  // namespace linac::train
