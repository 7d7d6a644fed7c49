#pragma once
// The job's settings as calls of the modules below. Pure but for reading files.

#include <memory>

#include "linac/data/batch_stream.h"
#include "linac/data/dataset.h"
#include "linac/graph/graph.h"
#include "linac/models/numerics.h"
#include "linac/spec/job.h"
#include "linac/train/state.h"

namespace linac::train {

/// Opens and scans the files. Data error if they do not hold what the job says.
std::shared_ptr<const data::Dataset> open_dataset(const spec::Job& job, const std::vector<std::string>& urls);

/// How a worker that carries the replicas `owned` reads a set of `events`, and where it goes on.
data::BatchStreamOptions stream_options(const spec::Job& job, const TrainState& state, int64_t events,
                                        const std::vector<int>& owned);
data::Position stream_position(const TrainState& state);

/// The job's train.kernels, train.precision and train.device.
models::Numerics numerics_of(const spec::Job& job);

/// User error if the images are not of the generator's size (x, y, z, 1).
void need_model_shape(const graph::Shape& image, const data::Dataset& dataset);

data::Preprocessing preprocessing(const spec::Job& job);

}  // namespace linac::train
