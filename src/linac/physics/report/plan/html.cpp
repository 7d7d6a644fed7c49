#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/plan/report.h"

namespace linac::report {
namespace {

constexpr const char* kReading =
    "Below each figure is an interval: four of five runs should be in between. <em>Start</em> is from the command to "
    "the first step, <em>jitter</em> how far steps scatter (standard deviation over the mean), <em>waiting for the "
    "slowest</em> what workers whose steps scatter lose to each other, "
    "<em>exchange</em> what of the sums over workers computing does not hide. <em>Energy</em> is the power of busy "
    "hosts times their hours: a model, no measurement. ★: nothing that fits is both sooner and cheaper. ✗: does not "
    "fit, or misses deadline or budget more often than once in five.";

// "1.2 h (1.0 to 1.4)", its interval below it.
std::string cell(const std::string& label, const std::string& text) {
  const size_t bracket = text.find(" (");
  std::string shown = escape(text.substr(0, bracket));
  if (bracket != std::string::npos)
    shown += " " + element("small", "", escape(text.substr(bracket + 2, text.rfind(')') - bracket - 2)));
  return table_cell(label, shown, text == kNotKnown ? "class=\"n none\"" : "class=\"n\"");
}

// What is said of each of several places, once.
std::vector<std::string> common_remarks(const PlanReport& report) {
  std::vector<std::string> common;
  if (report.rows.size() < 2) return common;
  for (const std::string& remark : report.rows.front().forecast.remarks) {
    const auto said = [&](const PlanRow& row) {
      return std::ranges::find(row.forecast.remarks, remark) != row.forecast.remarks.end();
    };
    if (std::ranges::all_of(report.rows, said)) common.push_back(remark);
  }
  return common;
}

std::string row_of(const PlanRow& row, const plan::Rate& currency, const std::vector<std::string>& common) {
  const plan::Forecast& found = row.forecast;
  std::string remarks;
  for (const std::string& remark : found.remarks)
    if (std::ranges::find(common, remark) == common.end()) remarks += (remarks.empty() ? "" : "; ") + remark;
  const std::string name = fmt::format("{}{}{}", row.front ? "★ " : "", found.good ? "" : "✗ ", row.name);
  return element("tr", "",
                 element("th", "scope=\"row\"",
                         element("span", "class=\"title\"", escape(name)) +
                             (remarks.empty() ? "" : element("small", "", escape(remarks)))) +
                     cell("time", duration_text(found.seconds)) + cell("start", duration_text(found.start)) +
                     cell("a step", duration_text(found.step)) + cell("jitter", known(found.jitter, percent_text)) +
                     cell("money", known_money(found.money, currency)) + cell("kWh", known(found.kwh, interval_text)) +
                     cell("kg CO₂", known(found.co2_kg, interval_text)) +
                     cell("in time", fmt::format("{:.0f} %", 100 * found.on_time)));
}

std::string headline(const PlanReport& report) {
  const bool any = !report.rows.empty() && report.rows.front().forecast.good;
  std::string lines;
  if (any) {
    const PlanRow& best = report.rows.front();
    lines = element("p", "class=\"word\"", escape(best.name));
    lines += element("p", "",
                     escape(duration_text(best.forecast.seconds) +
                            (best.forecast.money ? ", " + money_text(*best.forecast.money, report.currency) : "")));
  } else {
    lines = element("p", "class=\"word\"", "Nothing meets deadline and budget");
  }
  lines += element("p", "class=\"quiet\"", escape(report.goal.remark));
  return element("section", any ? "class=\"verdict neutral\"" : "class=\"verdict bad\"", lines);
}

}  // namespace

std::string to_html(const PlanReport& report, const std::vector<NamedPicture>& pictures) {
  std::string rows;
  const std::vector<std::string> common = common_remarks(report);
  std::vector<std::string> remarks = report.remarks;
  remarks.insert(remarks.end(), common.begin(), common.end());
  for (const PlanRow& row : report.rows) rows += row_of(row, report.currency, common);
  std::string body =
      headline(report) + remarks_part(remarks) + pictures_part("of the plan", pictures) +
      element("h2", "", "All places") +
      element("table", "class=\"figures intervals\"",
              table_heads({"where", "time", "start", "a step", "jitter", "money", "kWh", "kg CO₂", "in time"}) +
                  element("tbody", "", rows)) +
      element("p", "class=\"key\"", kReading) + facts_part(report.facts);
  return whole_page(report.title, body);
}

}  // namespace linac::report
