#include <fmt/format.h>

#include "linac/base/base/text_table.h"
#include "linac/physics/report/scores/tables.h"
#include "linac/physics/report/scores/words.h"

namespace linac::report {
namespace {

using Rows = TextRows;

std::string overall_table(const ScoreReport& report) {
  Rows rows;
  const auto scores = rows_of(report);
  if (scores.size() > 1) {
    rows.push_back({"all events"});
    for (const ScoreRow& of : scores) rows[0].push_back(of.model);
    if (report.compares()) rows[0].emplace_back();
  }
  for (const std::string& name : overall_scores(report)) {
    std::vector<std::string> row{score_title(report.task, name)};
    for (const ScoreRow& of : scores) row.push_back(score_text(scores::find(*of.scores, name)));
    if (report.compares()) row.push_back(significance_text(scores::find(report.difference(), name)));
    rows.push_back(std::move(row));
  }
  return overall_scores(report).empty() ? "" : lined_up(rows, 2) + "\n";
}

std::string part_table(const ScoreReport& report, const PartTable& table) {
  Rows rows{{part_word(report)}};
  const auto scores = rows_of(report);
  if (scores.size() > 1) rows[0].emplace_back();
  for (const std::string& name : table.scores) rows[0].push_back(score_title(report.task, name));
  for (size_t part = 0; part < report.parts.size(); ++part) {
    for (const ScoreRow& of : scores) {
      std::vector<std::string> row{report.parts[part]};
      if (scores.size() > 1) row.push_back(of.model);
      for (const std::string& name : table.scores)
        row.push_back(score_text(scores::find(*of.scores, name, static_cast<int>(part))));
      rows.push_back(std::move(row));
    }
  }
  return lined_up(rows, 2) + "\n";
}

}  // namespace

std::string to_text(const ScoreReport& report) {
  std::string text = overall_table(report);
  for (const PartTable& table : part_tables(report)) text += part_table(report, table);
  return text;
}

}  // namespace linac::report
