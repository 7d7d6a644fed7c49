#pragma once
// What samplers that learn begin with: points of a Sobol sequence, by the trial's number.

#include "linac/control/tune/sampler.h"
#include "linac/control/tune/samplers/sobol_sequence.h"

namespace linac::tune {

/// A refused point has a successor far along the sequence, which no trial of the startup has.
inline Point startup_point(const Space& space, const Ask& ask) {
  const uint64_t index = static_cast<uint64_t>(ask.number) + (static_cast<uint64_t>(ask.attempt) << 20);
  return space.point_of(sobol_point(ask.seed, index & 0x7FFFFFFFU, space.size()));
}

}  // namespace linac::tune
