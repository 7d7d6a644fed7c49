#pragma once
// Which steps of a training are audited, and who computes whose replicas a second time. All workers of a view say the
// same without a word to each other. Pure, thread-safe.
//
// In a step that is drawn all replicas are computed twice, in the others none: a step lasts as long as its slowest
// worker, so to audit one replica costs the time of auditing a replica of each. With the same share of replicas that
// are audited, drawing them one by one would make nearly every step of many workers a slow one.

#include <optional>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/train/comm/membership/view.h"

namespace linac::train {

/// `key`: of the step; `rate` from 0 to 1: share of the steps that are audited.
bool is_audited(double rate, RngKey key);

/// By replica the rank that computes it a second time: another one than carries it, unless there is no other. Each
/// computes as many as it carries, where that can be; where some carry none they do it all. Nothing in a step that is
/// not audited.
std::optional<std::vector<int>> auditors_of(double rate, RngKey key, const comm::View& view, int replicas);

}  // namespace linac::train
