#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/text_table.h"
#include "linac/physics/report/plan/parts.h"
#include "linac/physics/report/plan/report.h"

namespace linac::report {
namespace {

// Two digits that count, three from 100 on.
std::string digits(double value) {
  if (value == 0) return "0";
  const int before = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(2 - before, 0, 6));
}

std::string between(const plan::Interval& interval, double unit) {
  return fmt::format("{} to {}", digits(interval.low / unit), digits(interval.high / unit));
}

std::string why(const PlanRow& row) {
  TextRows rows;
  for (const PlanPart& part : parts_of(row.forecast)) {
    if (part.seconds.middle > 0) rows.push_back({part.name, duration_text(part.seconds)});
  }
  return lined_up(rows, 4);
}

// Of which no row but the head knows anything.
TextRows without_empty_columns(TextRows table) {
  for (size_t column = table.front().size(); column-- > 0;) {
    const bool empty =
        std::all_of(table.begin() + 1, table.end(), [&](const auto& row) { return row[column] == kNotKnown; });
    for (auto& row : table) {
      if (empty) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }
  }
  return table;
}

}  // namespace

std::string duration_text(const plan::Estimate& seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}};
  constexpr double kOfUnit = 1.5;  // rather 80 min than 1.3 h
  const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits) - 1,
                                  [&](const Unit& one) { return seconds.middle >= kOfUnit * one.seconds; });
  return fmt::format("{} {} ({})", digits(seconds.middle / unit->seconds), unit->name,
                     between(seconds.interval(), unit->seconds));
}

std::string money_text(const plan::Estimate& money, const plan::Rate& currency) {
  const std::string sum = digits(money.middle / currency.usd);
  return fmt::format("{} ({})", currency.currency == "USD" ? "$" + sum : sum + " " + currency.currency,
                     between(money.interval(), currency.usd));
}

std::string known_money(const std::optional<plan::Estimate>& money, const plan::Rate& currency) {
  return money ? money_text(*money, currency) : kNotKnown;
}

std::string interval_text(const plan::Estimate& value) {
  return fmt::format("{} ({})", digits(value.middle), between(value.interval(), 1));
}

std::string percent_text(const plan::Estimate& part) {
  return fmt::format("{} % ({})", digits(100 * part.middle), between(part.interval(), 0.01));
}

std::string known(const std::optional<plan::Estimate>& value, std::string (*text)(const plan::Estimate&)) {
  return value ? text(*value) : kNotKnown;
}

std::string to_text(const PlanReport& report, size_t rows) {
  if (report.rows.empty()) return "  nowhere\n";
  TextRows table{{"", "where", "time", "a step", "jitter", "money", "kWh", "kg CO2", "GiB a host"}};
  for (size_t i = 0; i < std::min(rows, report.rows.size()); ++i) {
    const PlanRow& row = report.rows[i];
    const plan::Forecast& found = row.forecast;
    table.push_back({fmt::format("{}{}", found.good ? " " : "x", row.front ? "*" : " "), row.name,
                     duration_text(found.seconds), duration_text(found.step), known(found.jitter, percent_text),
                     known_money(found.money, report.currency), known(found.kwh, interval_text),
                     known(found.co2_kg, interval_text),
                     found.memory_gib > 0 ? fmt::format("{:.1f}", found.memory_gib) : kNotKnown});
  }
  std::string text = lined_up(without_empty_columns(std::move(table)), 2);
  if (rows < report.rows.size())
    text += fmt::format("  and {} more (--top, --out FOLDER, --json)\n", report.rows.size() - rows);
  text += "\n  In brackets: four of five should be in between. *: nothing is both sooner and cheaper.";
  if (std::any_of(report.rows.begin(), report.rows.end(), [](const PlanRow& row) { return !row.forecast.good; }))
    text += " x: does not fit, or misses deadline or budget too often.";
  const PlanRow& first = report.rows.front();
  text += fmt::format("\n\n  {}: where the time goes\n{}", first.name, why(first));
  if (report.wishes.deadline_s > 0)
    text += fmt::format("  in time with a likelihood of {:.0f} %\n", 100 * first.forecast.on_time);
  if (first.forecast.preemptions > 0) {
    text += fmt::format("  taken away {:.1f} times; a checkpoint every {:.0f} min is best (checkpoint.every_minutes)\n",
                        first.forecast.preemptions, std::max(1.0, first.forecast.checkpoint_minutes));
  }
  for (const std::string& remark : first.forecast.remarks) text += "  note: " + remark + "\n";
  for (const std::string& remark : report.remarks) text += "  note: " + remark + "\n";
  return text;
}

}  // namespace linac::report
