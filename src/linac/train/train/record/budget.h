#pragma once
// What a run may use, as `budget` of its job says, and what it has used: steps, hours, money, energy and carbon
// dioxide. Counted by rank 0, of all attempts whose record it keeps in its folder (spent.json, which says at most a
// minute too little after a kill). Money and energy are those of workers for hours, by the job's own figures: a model,
// no measurement. One thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/job/job.h"

namespace linac::train {

class Budget {
 public:
  /// Reads what attempts before have used, if the file is there.
  Budget(const job::Budget& limits, std::filesystem::path file);

  /// So many workers went on for so long. Writes the file once a minute; what cannot be written is logged.
  void count(double seconds, int workers);
  void save() const;

  /// What is used up once the run has done so many steps, in words: "budget.hours = 2"; empty: nothing.
  std::string used_up(int64_t steps) const;
  /// The first time that kWarned of something is used, in words.
  std::optional<std::string> warning(int64_t steps);
  /// Error of kBudget for a run that has nothing left; `name`: of its folder.
  void need_left(int64_t steps, const std::string& name) const;

  static constexpr double kWarned = 0.8;

 private:
  struct Use {
    const char* setting;
    double used, limit;
  };
  std::vector<Use> uses(int64_t steps) const;

  const job::Budget limits_;
  const std::filesystem::path file_;
  double seconds_ = 0, worker_seconds_ = 0, written_at_ = 0;
  bool warned_ = false;
};

/// The error of a run that stops for that.
Error budget_error(const std::string& what, int64_t step, const std::string& name);

}  // namespace linac::train
