#pragma once
// The job's data settings as calls of the data module, and the sizes that follow from them. Pure but for reading files.

#include <memory>

#include "linac/data/dataset.h"
#include "linac/spec/job.h"

namespace linac::train {

/// Opens and scans the files. Data error if they do not hold what the job says.
std::shared_ptr<const data::Dataset> open_dataset(const spec::Job& job, const std::vector<std::string>& urls);

/// Steps of an epoch: whole global batches, or train.steps_per_epoch if that is less. Data error naming the numbers if
/// there is none.
int64_t steps_per_epoch(const spec::Job& job, const data::Dataset& train);

/// User error if the images are not of the model's size.
void need_model_shape(const spec::Job& job, const data::Dataset& dataset);

data::Preprocessing preprocessing(const spec::Job& job);

}  // namespace linac::train
