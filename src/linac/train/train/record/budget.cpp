#include "linac/train/train/record/budget.h"

#include <fmt/format.h>

#include <utility>

#include "linac/base/base/log.h"

namespace linac::train {

Error budget_error(const std::string& what, int64_t step, const std::string& name) {
  return {ErrorCode::kBudget, fmt::format("[budget] {} is used up after step {}; the checkpoint is there. Raise it to "
                                          "go on: linac train ... --out {} --resume --set {}",
                                          what.empty() ? "the run's budget" : what, step, name,
                                          what.empty() ? "budget.hours=N" : what.substr(0, what.find(' ')) + "=N")};
}

RunBudget::RunBudget(const job::Budget& limits, std::filesystem::path file, MeasuredKwh measured)
    : wants_energy_(limits.kwh > 0 || limits.co2_kg > 0),
      measured_(std::move(measured)),
      spent_(limits, std::move(file)) {}

const std::string& RunBudget::look(int64_t steps) {
  if (wants_energy_) spent_.measured(measured_());
  return used_up_ = spent_.used_up(steps);
}

bool RunBudget::ends_with(int64_t step, int workers) {
  const Clock::time_point now = Clock::now();
  spent_.count(std::chrono::duration<double>(now - std::exchange(counted_at_, now)).count(), workers);
  look(step);
  if (const auto warning = spent_.warning(step)) log::warn(*warning);
  return !used_up_.empty();
}

}  // namespace linac::train
