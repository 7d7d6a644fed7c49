#pragma once
// What the trials of a study have used together, against its limits: their steps, the time in which any of them ran,
// money by that, and their energy, by the meters that their runs have told of, each machine once though several trials
// ran on it side by side. One thread.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/job/run_energy.h"
#include "linac/base/job/spent.h"
#include "linac/control/study/ledger.h"

namespace linac::study {

class TrialsUse {
 public:
  /// Of a study with limits. Time that was used before is read from `file`, if it is there.
  TrialsUse(const Study& study, std::filesystem::path file);

  /// So many trials ran for so long.
  void count(double seconds, int trials);
  /// What one has done so far, of all its attempts.
  void steps(int64_t trial, int64_t steps) { steps_[trial] = steps; }
  void energy(int64_t trial, std::vector<job::ToldEnergy> told);
  void save() const { spent_.save(); }

  /// "limits.hours = 2"; empty: nothing is used up.
  std::string used_up() const { return spent_.used_up(all_steps()); }
  /// As job::Spent.
  std::optional<std::string> warning() { return spent_.warning(all_steps()); }

  bool wants_steps() const { return limits_.steps > 0; }
  bool wants_energy() const { return limits_.kwh > 0 || limits_.co2_kg > 0; }

 private:
  int64_t all_steps() const;

  const job::Budget limits_;
  const int workers_;  // of a trial
  job::Spent spent_;
  std::map<int64_t, int64_t> steps_;
  std::map<int64_t, std::vector<job::ToldEnergy>> told_;
};

/// For the page of a study in a folder: where that is, and what the runs of its trials say of their energy together, if
/// they say any.
std::vector<std::pair<std::string, std::string>> folder_facts(const Ledger& ledger,
                                                              const std::filesystem::path& folder);

}  // namespace linac::study
