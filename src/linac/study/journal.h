#pragma once
// A study on the disk: a folder with `study.yaml` and `journal.jsonl`, to which everything that was asked and told is
// appended, a line each. Its lines alone say what the study is: whoever reads them in their order comes to the same
// history and to the same next suggestion. Several processes may ask and tell at once: each does so under a lock of the
// file, after it has read what the others wrote. A line is on the disk before its caller goes on; half a line, which a
// process left that was killed or had no room, is removed by the next. One thread a Journal.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/descriptor.h"
#include "linac/study/given.h"
#include "linac/study/study_file.h"
#include "linac/tune/history.h"
#include "linac/tune/pruner.h"
#include "linac/tune/sampler.h"

namespace linac::study {

class Journal {
 public:
  /// Makes the folder, or goes on in one that has this study; user error if it has another one.
  static Journal open_or_make(const std::filesystem::path& folder, const Study& study);
  /// A new folder with the trials of another program, numbered from 1 on. User error if there is a study already.
  static Journal make_given(const std::filesystem::path& folder, const GivenStudy& given);
  /// User error if there is none. Data error, naming the line, if it was altered.
  static Journal open(const std::filesystem::path& folder);

  const Study& study() const { return study_; }
  const tune::History& history() const { return *history_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// When the first trial was asked for, in seconds since 1970; 0: none was.
  double first_ask_s() const { return first_ask_s_; }
  /// When a trial was asked for and when its end was told, in seconds since 1970; 0: not known, or not yet.
  struct Times {
    double asked = 0, told = 0;
  };
  Times times_of(int64_t trial) const;

  /// What others have written since.
  void refresh();
  /// The next trial, started: its number. Nothing where the budget's trials are all asked for, those that failed apart;
  /// of a population where all are, or while waits_for() names trials.
  std::optional<int64_t> ask();
  /// Trials that must end before the next one of a population can begin.
  std::vector<int64_t> waits_for() const;
  /// An intermediate value of a running trial; what the study's pruner says of the trial then.
  tune::Verdict report(int64_t trial, int64_t step, double value);
  /// The end of a trial. `values`: of kComplete alone; one that is no finite number makes it infeasible.
  void tell(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason = "");

  /// Suggests all trials anew, each from what had been told before it: the numbers of those that come out otherwise.
  /// Those that another program had suggested count as they are.
  std::vector<int64_t> replay() const;

 private:
  explicit Journal(std::filesystem::path folder);
  /// The journal of the folder; both are made where they are not there.
  static Descriptor file_to_write(const std::filesystem::path& folder);
  class Locked;
  /// What the next trial tries, and from whose state.
  tune::PopulationStep next(int64_t number) const;
  void begin(const Study& study);
  void take_line(const std::string& line, int64_t number);
  void append(const std::string& line);
  const tune::Trial& running(int64_t trial) const;  // user error for one that is not

  std::filesystem::path folder_;
  Descriptor file_;
  double first_ask_s_ = 0;
  std::map<int64_t, Times> times_;
  int64_t read_ = 0, lines_ = 0;  // bytes and lines of the file that are in the history
  Study study_;
  std::unique_ptr<tune::History> history_;
  std::unique_ptr<tune::Sampler> sampler_;
  std::unique_ptr<tune::Pruner> pruner_;
  std::optional<tune::Population> population_;  // in place of the sampler
};

/// "complete", "pruned", ...
const char* to_string(tune::State state);
/// User error naming the known ones.
tune::State state_named(const std::string& word);

}  // namespace linac::study
