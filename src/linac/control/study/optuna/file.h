#pragma once
// Optuna's journal file (JournalFileBackend): a line of JSON for each operation, as Optuna 5 writes it; files of older
// ones are read too. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/control/study/given.h"
#include "linac/control/study/ledger.h"

namespace linac::study {

struct OptunaDistribution {
  enum class Kind { kFloat, kInteger, kCategorical } kind = Kind::kFloat;
  double low = 0, high = 1, step = 0;  // step 0: continuous
  bool log = false;
  std::vector<std::string> choices;  // texts as they are, others as JSON
};

struct OptunaParameter {
  std::string name;
  double value = 0;  // a choice: its position
  OptunaDistribution distribution;
};

struct OptunaTrial {
  enum class State { kRunning, kComplete, kPruned, kFailed, kWaiting } state = State::kRunning;
  std::vector<OptunaParameter> parameters;  // in the order in which they were suggested
  std::vector<double> values;
  std::vector<std::pair<int64_t, double>> curve;
  double asked_s = 0, told_s = 0;
  size_t ended_at = 0;  // line
};

struct OptunaStudy {
  std::string name;
  std::vector<tune::Direction> directions;
  std::vector<std::string> metric_names;  // empty: not set
  std::vector<OptunaTrial> trials;        // by number
};

/// The studies of a file. Data error naming the line; half a line at the end, which is being written, is left out.
std::vector<OptunaStudy> parse_optuna_file(const std::string& text, const std::string& where);

/// A study without a job, with all trials that have ended. Ranges that changed are taken together; a parameter that
/// some complete trials lack is conditional on the earlier one whose values tell them apart. Data error naming the
/// parameter where there is none, or where a parameter changed its kind.
GivenStudy from_optuna(const OptunaStudy& optuna);

/// The study as a file that JournalStorage reads, with all trials in their order. What linac calls infeasible is failed
/// there; reasons are the user attribute "reason". A choice that is a number, true, false or null as JSON is one there.
std::string optuna_file_of(const Ledger& ledger, const std::string& name);

}  // namespace linac::study
