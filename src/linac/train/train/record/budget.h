#pragma once
// What a run has used of its budget (base/job/spent.h), on the worker that counts it, and the error of one that is used
// up. One thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "linac/base/base/error.h"
#include "linac/base/job/budget.h"
#include "linac/base/job/spent.h"

namespace linac::train {

/// The error of a run that stops for `what`, empty where another worker knows it; `name`: of its folder.
Error budget_error(const std::string& what, int64_t step, const std::string& name);

class RunBudget {
 public:
  /// Asked only where energy or carbon dioxide are bounded.
  using MeasuredKwh = std::function<std::optional<double>()>;

  RunBudget(const job::Budget& limits, std::filesystem::path file, MeasuredKwh measured);

  /// The time before a view is nobody's.
  void begin_view() { counted_at_ = Clock::now(); }
  /// After so many steps; what is used up, in words, or "".
  const std::string& look(int64_t steps);
  /// Before a step of so many workers: whether it is the last one. Warns once.
  bool ends_with(int64_t step, int workers);
  const std::string& used_up() const { return used_up_; }
  void save() const { spent_.save(); }

 private:
  using Clock = std::chrono::steady_clock;
  const bool wants_energy_;
  const MeasuredKwh measured_;
  job::Spent spent_;
  Clock::time_point counted_at_;
  std::string used_up_;
};

}  // namespace linac::train
