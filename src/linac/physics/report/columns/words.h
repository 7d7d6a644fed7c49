#pragma once
// What the forms of a report on columns have in common. Pure, thread-safe.

#include <functional>
#include <string>
#include <vector>

#include "linac/physics/report/columns/report.h"

namespace linac::report {

/// A figure of a column, for all tables.
struct ColumnFigure {
  const char* head;
  std::string (*text)(const columns::ColumnStats& column);  // "–" where there is none
};
const std::vector<ColumnFigure>& column_figures();

/// "training event 12 of a.h5"; the file only where there are several.
std::string place_in_words(const ColumnsReport& report, columns::Duplicates::Side side, int64_t event);
/// The file of an event, and its number in it.
std::pair<std::string, int64_t> place_of(const columns::SideStats& side, int64_t event);

/// Null of a report without test events.
const columns::ColumnStats* test_column(const ColumnsReport& report, size_t column);
/// The columns whose classes are shown: the targets; without any, all that have some.
std::vector<size_t> class_columns(const ColumnsReport& report);
/// Of a class in a column; 0 if it has none.
int64_t events_of_class(const columns::ColumnStats& column, const std::string& name);
/// Names of the classes of a column on both sides, those of the training first.
std::vector<std::string> class_names(const ColumnsReport& report, size_t column);

}  // namespace linac::report
