#pragma once
// What may be used, as a Budget says, and what has been: steps, hours, money, energy and carbon dioxide. A run's is
// counted by its rank 0, of all attempts whose record it keeps; a study's by whoever carries it out. The file says at
// most a minute too little after a kill. Money is that of workers for hours, by the budget's own figures; energy
// likewise, a model, unless somebody tells what was measured. One thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"

namespace linac::job {

/// User error for what counts nothing: "budget.money is counted by budget.price". `setting`: the budget's name there.
void check_budget(const Budget& budget, const std::string& where, const std::string& setting);

class Spent {
 public:
  /// Reads what was used before, if the file is there. `setting`: the budget's name, for words.
  Spent(const Budget& limits, std::filesystem::path file, std::string setting = "budget");

  /// So many workers went on for so long. Writes the file once a minute; what cannot be written is logged.
  void count(double seconds, int workers);
  /// The energy of all attempts so far, in place of the model's; none: not measured.
  void measured(std::optional<double> kwh) { measured_kwh_ = kwh; }
  void save() const;

  /// What is used up once so many steps are done, in words: "budget.hours = 2"; empty: nothing.
  std::string used_up(int64_t steps) const;
  /// The first time that kWarned of something is used, in words.
  std::optional<std::string> warning(int64_t steps);

  static constexpr double kWarned = 0.8;

 private:
  struct Use {
    const char* setting;
    double used, limit;
  };
  std::vector<Use> uses(int64_t steps) const;

  const Budget limits_;
  const std::filesystem::path file_;
  const std::string setting_;
  double seconds_ = 0, worker_seconds_ = 0, written_at_ = 0;
  std::optional<double> measured_kwh_;
  bool warned_ = false;
};

}  // namespace linac::job
