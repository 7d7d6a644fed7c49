#pragma once
// What a study was asked and told, line by line: JSON, which a file keeps (journal.h) or a service. The lines alone say
// what the study is: whoever takes them in their order comes to the same history and to the same next suggestion. A
// Ledger makes the next line and takes lines; keeping them is its owner's matter. One thread.

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/study/given.h"
#include "linac/control/study/study_file.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/population.h"
#include "linac/control/tune/pruner.h"
#include "linac/control/tune/sampler.h"

namespace linac::study {

class Ledger {
 public:
  /// Before the first line. `study`: budget, parallel and job count; the rest is what the first line says. `where`
  /// names it in errors.
  Ledger(Study study, std::string where);

  /// The line with which the lines of a study begin.
  static std::string first_line(const Study& study);
  /// Those after it, of trials that another program carried out, numbered from 1 on: all asked for, then told in their
  /// order.
  static std::vector<std::string> given_lines(const GivenStudy& given);

  /// Data error, naming the line, for one that no ledger makes; the ledger is then of no use.
  void take(const std::string& line);
  int64_t lines() const { return lines_; }  // taken
  const Study& study() const { return study_; }
  /// The same with another budget, parallel and job.
  void set_study(const Study& study) { study_ = study; }
  const tune::History& history() const { return *history_; }
  /// When the first trial was asked for, in seconds since 1970; 0: none was.
  double first_ask_s() const { return first_ask_s_; }
  /// When a trial was asked for and when its end was told, in seconds since 1970; 0: not known, or not yet.
  struct Times {
    double asked = 0, told = 0;
  };
  Times times_of(int64_t trial) const;

  // Lines that are to be taken next: what they say holds once they are.

  /// The next trial, started. Nothing where the budget's trials are all asked for, those that failed apart, or its cost
  /// is spent; of a
  /// population where all are, or while waits_for() names trials.
  struct Asked {
    int64_t trial;
    std::string line;
  };
  std::optional<Asked> ask();
  /// Trials that must end before the next one of a population can begin.
  std::vector<int64_t> waits_for() const;
  /// An intermediate value of a running trial. User error for one that is not, and for a step that is not after its
  /// last.
  std::string report(int64_t trial, int64_t step, double value) const;
  /// The end of a trial. `values`: of kComplete alone; one that is no finite number makes it infeasible. `cost`: what
  /// it took, of any state; NaN: not known. User error for one that does not run, or as many values as the study does
  /// not have, or a cost below zero.
  std::string tell(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason = "",
                   double cost = std::nan("")) const;

  /// What the study's pruner says of a trial that runs.
  tune::Verdict verdict(int64_t trial) const;
  /// Whether the end of the trial was told in the same way, bit for bit, whatever its reason.
  bool told_so(int64_t trial, tune::State state, const std::vector<double>& values) const;

  /// Suggests all trials of a ledger's lines anew, each from what had been told before it: the numbers of those that
  /// come out otherwise. Those that another program had suggested count as they are.
  static std::vector<int64_t> replay(const Study& study, const std::vector<std::string>& lines);

 private:
  const tune::Trial& running(int64_t trial) const;  // user error for one that is not
  /// What the trial tries, and from whose state.
  tune::PopulationStep next(int64_t number) const;
  void take_study(const std::string& text);
  /// What it took: as it was told, or the time from its ask.
  void take_cost(int64_t trial, const nlohmann::json& record);
  void take_end(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason);

  Study study_;
  std::string where_;
  int64_t lines_ = 0;
  double first_ask_s_ = 0;
  std::map<int64_t, Times> times_;
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
