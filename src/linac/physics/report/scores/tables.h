#pragma once
// Which scores stand in which table of a report. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/report/scores/report.h"

namespace linac::report {

/// Names of the scores over all events, in the order of the report.
std::vector<std::string> overall_scores(const ScoreReport& report);

/// "class", "label" or "output".
const char* part_word(const ScoreReport& report);

/// A table with a row for each class or output.
struct PartTable {
  std::string title;
  std::vector<std::string> scores;
};
std::vector<PartTable> part_tables(const ScoreReport& report);

/// A line of a table: of a class or output (or of all), of a model or the difference of both. Of folds their mean
/// comes first, then each.
struct ScoreRow {
  std::string model;  // empty where there is one
  const std::vector<scores::Score>* scores = nullptr;
  bool is_difference = false;
};
std::vector<ScoreRow> rows_of(const ScoreReport& report);

}  // namespace linac::report
