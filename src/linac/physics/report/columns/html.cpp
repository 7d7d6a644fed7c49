#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/plural.h"
#include "linac/physics/report/columns/words.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/page/numbers.h"

namespace linac::report {
namespace {

constexpr const char* kReading =
    "Values are 32-bit floats, as a training reads them, before <em>data.filter</em>, <em>define</em>, <em>lists</em>, "
    "<em>split</em> and scaling. <em>std</em> is the standard deviation of the population. Quantiles and histograms "
    "are "
    "of all values of a column, or, of more than 65,536, of a sample of so many, which is wrong by 0.2 % of the values "
    "at the median. A <em>length</em> counts the rows of an event's list. Two events are <em>copies</em> if the values "
    "of all columns here have the same bytes; of more than four million events a share is looked at and the counts are "
    "estimates. A copy in the test data makes a model look better than it is. Histograms show the values from 0.1 % to "
    "99.9 %.";

std::string cell(const std::string& label, const std::string& text) {
  return table_cell(label, escape(text), text == "–" ? "class=\"n none\"" : "class=\"n\"");
}

std::string events_text(const ColumnsReport& report) {
  std::string text =
      fmt::format("{}, {}", plural(report.stats.train.events, report.has_test() ? "training event" : "event"),
                  plural(static_cast<int64_t>(report.stats.train.columns.size()), "column"));
  if (report.has_test()) text += fmt::format(", {}", plural(report.stats.test.events, "test event"));
  return text;
}

std::string headline(const ColumnsReport& report) {
  const std::vector<std::string> findings = findings_of(report);
  const bool leaks = report.stats.duplicates.leaked > 0;
  std::string items;
  for (const std::string& finding : findings) items += element("li", "", escape(finding));
  const std::string said = findings.empty()
                               ? element("p", "class=\"quiet\"", "No copies, no NaN, no column that never changes.")
                               : element("ul", "", items);
  return element(
      "section", leaks ? "class=\"verdict failed\"" : "class=\"verdict neutral\"",
      element("p", "class=\"word\"", escape(leaks ? "Test events are training events" : events_text(report))) +
          (leaks ? element("p", "class=\"quiet\"", escape(events_text(report))) : "") + said);
}

std::string figure_row(const columns::ColumnStats& column, const std::string& head) {
  std::string cells = head;
  for (const ColumnFigure& figure : column_figures()) cells += cell(figure.head, figure.text(column));
  return element("tr", "", cells);
}

std::string columns_part(const ColumnsReport& report) {
  std::vector<std::string> heads{"column"};
  for (const ColumnFigure& figure : column_figures()) heads.emplace_back(figure.head);
  std::string rows;
  for (size_t i = 0; i < report.stats.train.columns.size(); ++i) {
    const columns::ColumnStats& column = report.stats.train.columns[i];
    rows += figure_row(column, row_head(column.name, column.stored));
    if (const auto* const test = test_column(report, i))
      rows += figure_row(*test, element("th", "scope=\"row\"", element("small", "", "test")));
  }
  return element("h2", "", "Columns") +
         element("table", "class=\"figures\"", table_heads(heads) + element("tbody", "", rows));
}

std::string class_cell(const std::string& head, const columns::ColumnStats& column, const std::string& name) {
  const int64_t events = events_of_class(column, name);
  const double share = static_cast<double>(events) / static_cast<double>(std::max<int64_t>(1, column.events));
  return cell(head, fmt::format("{} ({})", events, percent(share)));
}

std::string classes_part(const ColumnsReport& report) {
  std::string rows;
  for (const size_t i : class_columns(report)) {
    const columns::ColumnStats &train = report.stats.train.columns[i], *const test = test_column(report, i);
    for (const std::string& name : class_names(report, i)) {
      std::string cells = row_head(name, train.name) + class_cell("training", train, name);
      if (test != nullptr) cells += class_cell("test", *test, name);
      rows += element("tr", "", cells);
    }
  }
  if (rows.empty()) return {};
  std::vector<std::string> heads{"class", report.has_test() ? "training events" : "events"};
  if (report.has_test()) heads.emplace_back("test events");
  return element("h2", "", report.targets.empty() ? "Columns of few different values" : "Classes of the targets") +
         element("table", "class=\"figures\"", table_heads(heads) + element("tbody", "", rows));
}

std::string left_out_part(const ColumnsReport& report) {
  std::string items;
  for (const auto& [name, why] : report.stats.left_out)
    items += element("li", "", element("b", "", escape(name)) + " " + escape(why));
  return items.empty() ? ""
                       : element("h2", "", "Columns that are left out") + element("ul", "class=\"remarks\"", items);
}

}  // namespace

std::string to_html(const ColumnsReport& report, const std::vector<NamedPicture>& pictures) {
  return whole_page(report.title, headline(report) + remarks_part(report.remarks) + columns_part(report) +
                                      pictures_part(events_text(report), pictures) + classes_part(report) +
                                      left_out_part(report) + facts_part(report.facts) +
                                      element("h2", "", "How to read this") +
                                      element("p", "class=\"reading\"", kReading));
}

}  // namespace linac::report
