#pragma once
// The weights that a 3dgan's training goes on from (start.h): of a run of its own, a checkpoint, or the .keras file of
// a generator, which leaves the discriminator to be drawn from the seed. Thread-safe function.

#include <optional>

#include "linac/base/job/job.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/threedgan/networks.h"

namespace linac::trained {

struct GanStart {
  std::optional<graph::Parameters> generator, discriminator;
};

/// The weights in model.file; none if the job names no file. User error for weights of other networks, and for those
/// that were trained on images of another model.power or data.scale.
GanStart start_of(const job::Job& job, const models::threedgan::Architecture& architecture);

}  // namespace linac::trained
