#pragma once
// What a 3dgan's training goes on from: model.from, a run of its own, a checkpoint, or the .keras file of a generator,
// which leaves the discriminator to be drawn from the seed. Thread-safe functions.

#include <optional>

#include "linac/graph/parameters.h"
#include "linac/models/threedgan/networks.h"
#include "linac/spec/job.h"

namespace linac::trained {

/// The job with model.file as the one file that the training goes on from: of a run's folder its best checkpoint, else
/// the newest, which model.from names then as well. Other jobs as they are. User error if there is none.
spec::Job with_start(spec::Job job);

struct GanStart {
  std::optional<graph::Parameters> generator, discriminator;
};

/// The weights in model.file; none if the job names no file. User error for weights of other networks, and for those
/// that were trained on images of another model.power or data.scale.
GanStart start_of(const spec::Job& job, const models::threedgan::Architecture& architecture);

}  // namespace linac::trained
