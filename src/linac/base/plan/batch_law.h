#pragma once
// What a step takes at a batch that was not measured: a + b x batch, by two that were. Between two measured ones by
// these, beyond them by the two that are nearest; so are what a step takes beside its waves, its CPU time and its
// memory. Pure, thread-safe.
//
// Where one batch alone was measured, a step is somewhere between as long as there and in proportion to its events.
// Its middle is the geometric one, and four of five values are supposed between the two.

#include <cstdint>

#include "linac/base/plan/measured.h"

namespace linac::plan {

/// Whether two batches were measured.
bool has_batch_law(const Measured& measured);

/// The same work with so many events of a replica's step: times of step and test, CPU time, memory, operations. Its
/// doubt is widened by what the law does not say. The steps of the training, and `work`, stay those of `measured`.
Measured at_batch(const Measured& measured, int64_t batch);

/// The same at `times` the wave: what a step takes, its test and its updates follow. Its doubt is widened by `spread`.
Measured slowed(Measured measured, double times, double spread);

}  // namespace linac::plan
