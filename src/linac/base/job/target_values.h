#pragma once
// The targets that a loss is defined for. Pure, thread-safe.

#include <cstdint>
#include <string>

#include "linac/base/base/value_range.h"

namespace linac::job {

/// What may stand in place of a loss: the output has no target then. kOutputLoss: its values are the loss, which the
/// model computes; kOutputMetric: its values are reported, and nothing is learned from them; kNoLoss: neither.
inline constexpr const char *kOutputLoss = "output", *kOutputMetric = "metric", *kNoLoss = "none";
bool has_target(const std::string& loss);

inline constexpr const char* kNoTargets =
    "data.targets names no column: say what the outputs should be, e.g. targets: [{column: label}]";

/// Whether train.fit.label_smoothing changes it; by its full name or Keras's short one. The targets of the sparse
/// cross-entropy are numbers of classes.
bool takes_label_smoothing(const std::string& loss);

inline constexpr const char* kNoSmoothing =
    "train.fit.label_smoothing is of the categorical and the binary cross-entropies, and no output has one of these as "
    "its loss: leave it out, or train with one";

/// `loss` by its full name. `classes`: the last axis of the prediction. Values outside give a number all the same, but
/// one that says nothing: a binary cross-entropy below zero, a logarithm of a count below zero.
ValueRange target_values(const std::string& loss, int64_t classes);

}  // namespace linac::job
