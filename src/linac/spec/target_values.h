#pragma once
// The targets that a loss is defined for. Pure, thread-safe.

#include <cstdint>
#include <string>

namespace linac::spec {

struct TargetValues {
  double min = 0, max = 0;  // both included; infinite where there is no limit
  bool whole = false;       // no fractions
};

/// `loss` by its full name. `classes`: the last axis of the prediction. Values outside give a number all the same, but
/// one that says nothing: a binary cross-entropy below zero, a logarithm of a count below zero.
TargetValues target_values(const std::string& loss, int64_t classes);

}  // namespace linac::spec
