#pragma once
// A study of hyper-parameters as its page shows it, read from the document of `linac study report`. Pure, thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace linac::report {

struct StudyObjective {
  std::string name;
  bool maximize = false;
};

struct StudyParameter {
  std::string name;
  double low = 0, high = 1;
  double edge = 0;  // half the distance of two values; 0: continuous
  bool log = false;
  std::vector<std::string> choices;  // of a categorical one, whose values are positions among them
};

struct StudyTrial {
  int64_t number = 0;
  std::string state, reason;                     // "complete", "pruned", ...
  std::vector<double> values;                    // of each objective, if it is complete
  std::vector<double> at;                        // of each parameter; NaN: inactive
  std::vector<std::string> words;                // the same as texts; empty: inactive
  std::vector<std::pair<double, double>> curve;  // step, value of the first objective; NaN: no number
  std::optional<double> seconds;                 // from when it was asked for to its end

  bool complete() const { return state == "complete"; }
};

struct StudyMap {
  size_t x = 0, y = 0, cells = 0;  // parameters
  std::vector<double> values;      // of the first objective, those of the least y first
};

struct StudyRecord {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<StudyObjective> objectives;       // at least one
  std::vector<StudyParameter> parameters;       // at least one
  std::vector<StudyTrial> trials;               // as they were asked for
  std::vector<int64_t> front;                   // numbers: the best trial, or those that no other one beats
  std::vector<std::vector<double>> importance;  // shares by objective and parameter
  std::optional<StudyMap> map;

  const StudyTrial* find(int64_t number) const;
  /// Parameters by what they do to the first objective, the most important first.
  std::vector<size_t> by_importance() const;
};

/// Data error for what is no such document.
StudyRecord parse_study_record(const std::string& json, const std::string& where);

}  // namespace linac::report
