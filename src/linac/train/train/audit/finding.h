#pragma once
// What an audit has found. A value.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/job/group_lines.h"
#include "linac/train/comm/membership/view.h"

namespace linac::train {

/// Ranks of the view in which it was found; of all workers alike. Where somebody is suspected the run cannot go on.
/// Nobody at all: all have computed rightly.
struct AuditFinding {
  std::vector<int> wrong, suspects;
  int64_t clean_step = -1;  // steps that were done when an audit last found all right; -1: none since the start
  std::string what;         // "replica 3: from the gradient of 'dense/kernel' on, in 2 of 4 gradients"
};

/// For the record. `view`: in which it was found, behind so many steps.
job::AuditLine line_of(const AuditFinding& finding, const comm::View& view, int replicas, int64_t global_step);
/// What those end with that it names, with the way out.
Error wrong_error(const job::AuditLine& line);

}  // namespace linac::train
