#include "linac/train/train/record/budget.h"

#include <fmt/format.h>

namespace linac::train {

Error budget_error(const std::string& what, int64_t step, const std::string& name) {
  return {ErrorCode::kBudget, fmt::format("[budget] {} is used up after step {}; the checkpoint is there. Raise it to "
                                          "go on: linac train ... --out {} --resume --set {}",
                                          what.empty() ? "the run's budget" : what, step, name,
                                          what.empty() ? "budget.hours=N" : what.substr(0, what.find(' ')) + "=N")};
}

}  // namespace linac::train
