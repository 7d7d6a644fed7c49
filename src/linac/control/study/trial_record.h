#pragma once
// What the training of a trial says in its run's folder: the measures of its epochs as they come, those of the epoch
// that counts, and how it failed. The folder may be another account's, and its files anything at all: nothing outside
// of it is opened, nothing is waited for, and what is no record of a run says nothing. One thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/told_energy.h"
#include "linac/control/study/study_file.h"

namespace linac::study {

struct Measured {
  int64_t step;  // epochs that are done
  double value;
};

class TrialRecord {
 public:
  /// `folder`: canonical, or below one that is; it need not be there yet.
  TrialRecord(const Study& study, std::filesystem::path folder);

  /// Epochs of a training that were not seen before, in order, with the first objective's value. User error if they
  /// lack the measure of an objective: the names of those that are.
  std::vector<Measured> measured();
  /// Of those that measured() has seen.
  int64_t steps() const { return steps_; }
  /// Of a training that has ended: the values of all objectives in one epoch, the last one or that of the first
  /// objective's best value, among those that have them all; empty: none has.
  std::vector<double> values_of_epoch() const;
  /// What it says to have taken: the study's sampler.cost in the last epoch that has it; NaN: none, or that is time.
  double cost() const;
  /// What its workers say of energy, in run.json.
  std::vector<job::ToldEnergy> told_energies() const;
  /// With which exit status it says to have failed; nothing: it does not say so.
  std::optional<int> exit_status() const;

 private:
  std::filesystem::path folder_;
  std::vector<std::string> metrics_;  // of the objectives
  std::string cost_;                  // sampler.cost
  tune::Direction direction_;         // of the first one
  bool last_;                         // epoch counts, not the best
  uint64_t inode_ = 0;
  int64_t read_ = 0, seen_ = 0, steps_ = 0;
};

/// What the run in a folder, as TrialRecord's, says of energy in run.json.
std::vector<job::ToldEnergy> told_energies(const std::filesystem::path& folder);

/// What others call a cost: NaN where it is no finite number of 0 or more.
double possible_cost(double value);

}  // namespace linac::study
