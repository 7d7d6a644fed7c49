#pragma once
// The targets that a loss is defined for. Pure, thread-safe.

#include <cstdint>
#include <string>

#include "linac/base/base/value_range.h"

namespace linac::job {

/// `loss` by its full name. `classes`: the last axis of the prediction. Values outside give a number all the same, but
/// one that says nothing: a binary cross-entropy below zero, a logarithm of a count below zero.
ValueRange target_values(const std::string& loss, int64_t classes);

}  // namespace linac::job
