#include "linac/physics/report/columns/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/plural.h"
#include "linac/physics/report/page/numbers.h"

namespace linac::report {
namespace {

using columns::ColumnStats;
using columns::Duplicates;
using columns::SideStats;

constexpr const char* kNone = "–";
constexpr double kRareShare = 0.01;

std::string number(double value) {
  return std::isfinite(value) ? short_number(value) : kNone;
}

std::string quantile(const ColumnStats& column, double share) {
  const auto found = std::ranges::find(column.quantiles, share, &columns::Quantile::share);
  return found == column.quantiles.end() ? kNone : number(found->value);
}

std::string count(int64_t value) {
  return value == 0 ? "0" : fmt::format("{}", value);
}

std::string length(const ColumnStats& column) {
  if (!column.is_list) return kNone;
  if (column.length_min == column.length_max) return fmt::format("{}", column.length_min);
  return fmt::format("{} to {}, mean {}", column.length_min, column.length_max, short_number(column.length_mean));
}

const SideStats& side_of(const ColumnsReport& report, Duplicates::Side side) {
  return side == Duplicates::Side::kTrain ? report.stats.train : report.stats.test;
}

std::string about(double looked_at) {
  return looked_at < 1 ? "about " : "";
}

std::string share_of(int64_t part, int64_t all) {
  return percent(static_cast<double>(part) / static_cast<double>(std::max<int64_t>(all, 1)));
}

void add_copies(const ColumnsReport& report, std::vector<std::string>& findings) {
  const Duplicates::Found& found = report.stats.duplicates;
  std::string example;
  if (!found.pairs.empty()) {
    const Duplicates::Pair& pair = found.pairs.front();
    example = fmt::format("; e.g. {} and {}", place_in_words(report, pair.first_side, pair.first),
                          place_in_words(report, pair.second_side, pair.second));
  }
  const auto add = [&](int64_t events, int64_t all, const char* what) {
    if (events == 0) return;
    findings.push_back(fmt::format("{}{} of {} ({}) {}{}", about(found.looked_at), events, all, share_of(events, all),
                                   what, findings.empty() ? example : ""));
  };
  add(found.leaked, report.stats.test.events, "test events are training events as well, byte for byte");
  add(found.train, report.stats.train.events, "training events are copies of earlier ones, byte for byte");
  add(found.test, report.stats.test.events, "test events are copies of earlier ones, byte for byte");
}

void add_values(const ColumnStats& column, const char* side, std::vector<std::string>& findings) {
  const int64_t bad = column.nulls + column.nans + column.infinities;
  if (bad > 0) {
    findings.push_back(
        fmt::format("{}: '{}' has {} NaN, {} infinite values and {} nulls among {}: a training refuses them", side,
                    column.name, column.nans, column.infinities, column.nulls, plural(column.values, "value")));
  }
  if (column.is_constant()) {
    findings.push_back(fmt::format("{}: '{}' is the same in every event", side, column.name));
  } else if (column.constant_places > 0) {
    const bool more = column.constant_places > static_cast<int64_t>(column.first_constant_places.size());
    findings.push_back(fmt::format("{}: {} of the {} values of '{}' never change: {}{}", side, column.constant_places,
                                   column.places, column.name, fmt::join(column.first_constant_places, ", "),
                                   more ? ", ..." : ""));
  }
}

void add_classes(const ColumnStats& column, std::vector<std::string>& findings) {
  for (const auto& [name, events] : column.classes) {
    if (static_cast<double>(events) >= kRareShare * static_cast<double>(column.events)) continue;
    findings.push_back(fmt::format("training: class {} of '{}' has {} of {} ({})", name, column.name, events,
                                   plural(column.events, "event"), share_of(events, column.events)));
  }
}

void add_new_classes(const ColumnsReport& report, size_t column, std::vector<std::string>& findings) {
  const ColumnStats *const train = &report.stats.train.columns[column], *const test = test_column(report, column);
  if (test == nullptr) return;
  for (const auto& [name, events] : test->classes)
    if (events > 0 && events_of_class(*train, name) == 0)
      findings.push_back(fmt::format("test: class {} of '{}' is in no training event", name, train->name));
}

}  // namespace

const std::vector<ColumnFigure>& column_figures() {
  static const std::vector<ColumnFigure> figures{
      {"mean", [](const ColumnStats& column) { return number(column.mean); }},
      {"std", [](const ColumnStats& column) { return number(column.std); }},
      {"min", [](const ColumnStats& column) { return number(column.min); }},
      {"5 %", [](const ColumnStats& column) { return quantile(column, 0.05); }},
      {"median", [](const ColumnStats& column) { return quantile(column, 0.5); }},
      {"95 %", [](const ColumnStats& column) { return quantile(column, 0.95); }},
      {"max", [](const ColumnStats& column) { return number(column.max); }},
      {"zeros",
       [](const ColumnStats& column) {
         return column.is_text ? kNone : column.zeros == 0 ? "0" : share_of(column.zeros, column.values);
       }},
      {"NaN, ∞", [](const ColumnStats& column) { return count(column.nulls + column.nans + column.infinities); }},
      {"length", length},
  };
  return figures;
}

bool ColumnsReport::is_target(const std::string& column) const {
  return std::ranges::find(targets, column) != targets.end();
}

std::pair<std::string, int64_t> place_of(const SideStats& side, int64_t event) {
  for (size_t i = 0; i < side.file_events.size(); ++i) {
    if (event < side.file_events[i]) return {side.urls[i], event};
    event -= side.file_events[i];
  }
  return {"", event};
}

std::string place_in_words(const ColumnsReport& report, Duplicates::Side side, int64_t event) {
  const SideStats& of = side_of(report, side);
  const char* const name = side == Duplicates::Side::kTrain ? "training" : "test";
  const auto [url, place] = place_of(of, event);
  return of.urls.size() == 1 ? fmt::format("{} event {}", name, event)
                             : fmt::format("{} event {} of {}", name, place, url);
}

const ColumnStats* test_column(const ColumnsReport& report, size_t column) {
  return report.has_test() ? &report.stats.test.columns[column] : nullptr;
}

std::vector<size_t> class_columns(const ColumnsReport& report) {
  std::vector<size_t> shown, all;
  for (size_t i = 0; i < report.stats.train.columns.size(); ++i) {
    const ColumnStats& column = report.stats.train.columns[i];
    if (column.classes.empty()) continue;
    all.push_back(i);
    if (report.is_target(column.name)) shown.push_back(i);
  }
  return report.targets.empty() ? all : shown;
}

int64_t events_of_class(const ColumnStats& column, const std::string& name) {
  for (const auto& [known, events] : column.classes)
    if (known == name) return events;
  return 0;
}

std::vector<std::string> class_names(const ColumnsReport& report, size_t column) {
  std::vector<std::string> names;
  for (const auto& [name, events] : report.stats.train.columns[column].classes) names.push_back(name);
  if (const ColumnStats* const test = test_column(report, column))
    for (const auto& [name, events] : test->classes)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::vector<std::string> findings_of(const ColumnsReport& report) {
  std::vector<std::string> findings;
  add_copies(report, findings);
  for (const ColumnStats& column : report.stats.train.columns) add_values(column, "training", findings);
  for (const ColumnStats& column : report.stats.test.columns) add_values(column, "test", findings);
  for (size_t i = 0; i < report.stats.train.columns.size(); ++i) {
    if (!report.is_target(report.stats.train.columns[i].name)) continue;
    add_classes(report.stats.train.columns[i], findings);
    add_new_classes(report, i, findings);
  }
  return findings;
}

}  // namespace linac::report
