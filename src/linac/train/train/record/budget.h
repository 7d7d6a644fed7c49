#pragma once
// A run whose budget (base/job/spent.h) is used up.

#include <cstdint>
#include <string>

#include "linac/base/base/error.h"

namespace linac::train {

/// The error of a run that stops for `what`; `name`: of its folder.
Error budget_error(const std::string& what, int64_t step, const std::string& name);

}  // namespace linac::train
