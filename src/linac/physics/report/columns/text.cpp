#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/plural.h"
#include "linac/base/base/text_table.h"
#include "linac/physics/report/columns/words.h"
#include "linac/physics/report/page/numbers.h"

namespace linac::report {
namespace {

constexpr size_t kClassesShown = 20;

std::vector<std::string> row_of(const std::string& name, const std::string& stored,
                                const columns::ColumnStats& column) {
  std::vector<std::string> row{name, stored};
  for (const ColumnFigure& figure : column_figures()) row.push_back(figure.text(column));
  return row;
}

std::string columns_table(const ColumnsReport& report) {
  TextRows rows{{"column", "stored as"}};
  for (const ColumnFigure& figure : column_figures()) rows[0].emplace_back(figure.head);
  for (size_t i = 0; i < report.stats.train.columns.size(); ++i) {
    const columns::ColumnStats& column = report.stats.train.columns[i];
    rows.push_back(row_of(column.name, column.stored, column));
    if (const auto* const test = test_column(report, i)) rows.push_back(row_of("  test", "", *test));
  }
  return lined_up(rows);
}

std::string classes_lines(const ColumnsReport& report) {
  std::string text;
  for (const size_t i : class_columns(report)) {
    const columns::ColumnStats& column = report.stats.train.columns[i];
    std::string line;
    size_t shown = 0;
    for (const auto& [name, events] : column.classes) {
      if (++shown > kClassesShown) continue;
      const double share = static_cast<double>(events) / static_cast<double>(std::max<int64_t>(1, column.events));
      line += fmt::format("{}{} {} ({})", line.empty() ? "" : ", ", name, events, percent(share));
    }
    if (shown > kClassesShown) line += fmt::format(" and {} others", shown - kClassesShown);
    text += fmt::format("classes of {}: {}\n", column.name, line);
  }
  return text;
}

}  // namespace

std::string to_text(const ColumnsReport& report) {
  std::string text = fmt::format("{} in {}", plural(report.stats.train.events, "event"),
                                 plural(static_cast<int64_t>(report.stats.train.urls.size()), "file"));
  if (report.has_test())
    text += fmt::format("; test: {} in {}", plural(report.stats.test.events, "event"),
                        plural(static_cast<int64_t>(report.stats.test.urls.size()), "file"));
  text += "\n" + columns_table(report) + classes_lines(report);
  for (const std::string& finding : findings_of(report)) text += fmt::format("note: {}\n", finding);
  for (const auto& [name, why] : report.stats.left_out) text += fmt::format("left out: {}: {}\n", name, why);
  for (const std::string& remark : report.remarks) text += fmt::format("note: {}\n", remark);
  return text;
}

}  // namespace linac::report
