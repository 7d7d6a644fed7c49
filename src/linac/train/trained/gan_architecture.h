#pragma once
// The networks of a job's 3dgan: linac's own, or those of its files. Thread-safe.

#include "linac/base/job/job.h"
#include "linac/model/models/threedgan/networks.h"

namespace linac::trained {

/// linac's own; or what model.generator and model.discriminator hold, with their weights: Keras files (.keras, .h5) or
/// TorchScript (.pt, .pt2). User error naming the file if it is none, or if the two do not go together.
models::threedgan::Architecture architecture_of(const job::Job& job);

}  // namespace linac::trained
