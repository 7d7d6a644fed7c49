#pragma once
// A study on the disk: a folder with `study.yaml` and `journal.jsonl`, to which everything that was asked and told is
// appended, a line each, as a Ledger makes them. Several processes may ask and tell at once: each does so under a lock
// of the file, after it has read what the others wrote. A line is on the disk before its caller goes on; half a line,
// which a process left that was killed or had no room, is removed by the next. One thread a Journal.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/control/study/given.h"
#include "linac/control/study/ledger.h"
#include "linac/control/study/study_file.h"

namespace linac::study {

class Journal {
 public:
  /// Makes the folder, or goes on in one that has this study; user error if it has another one.
  static Journal open_or_make(const std::filesystem::path& folder, const Study& study);
  /// A new folder with the trials of another program, numbered from 1 on. User error if there is a study already.
  static Journal make_given(const std::filesystem::path& folder, const GivenStudy& given);
  /// User error if there is none. Data error, naming the line, if it was altered.
  static Journal open(const std::filesystem::path& folder);

  const Ledger& ledger() const { return ledger_; }
  using Times = Ledger::Times;
  Times times_of(int64_t trial) const { return ledger_.times_of(trial); }
  double first_ask_s() const { return ledger_.first_ask_s(); }
  const Study& study() const { return ledger_.study(); }
  const tune::History& history() const { return ledger_.history(); }
  const std::filesystem::path& folder() const { return folder_; }

  /// What others have written since.
  void refresh();
  /// The next trial, started: its number. Nothing where the budget's trials are all asked for, those that failed apart;
  /// of a population where all are, or while trials run that must end before (Ledger::waits_for).
  std::optional<int64_t> ask();
  /// An intermediate value of a running trial; what the study's pruner says of the trial then.
  tune::Verdict report(int64_t trial, int64_t step, double value);
  /// The end of a trial. `values`: of kComplete alone; one that is no finite number makes it infeasible.
  /// `cost`: what it took; NaN: not known.
  void tell(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason = "",
            double cost = std::nan(""));

  /// Suggests all trials anew, each from what had been told before it: the numbers of those that come out otherwise.
  /// Those that another program had suggested count as they are.
  std::vector<int64_t> replay() const;

 private:
  Journal(std::filesystem::path folder, Study study);
  /// The journal of the folder; both are made where they are not there.
  static Descriptor file_to_write(const std::filesystem::path& folder);
  class Locked;
  void append(const std::string& line);

  std::filesystem::path folder_;
  Descriptor file_;
  int64_t read_ = 0;  // bytes of the file that are in the ledger
  Ledger ledger_;
};

}  // namespace linac::study
