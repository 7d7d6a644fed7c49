#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "linac/base/base/plural.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/showers/page.h"

namespace linac::report {
namespace {

constexpr std::array<const char*, 4> kDistances{"ks", "wasserstein", "separation", "chi2"};
constexpr std::array<const char*, 4> kDistanceHeads{
    "KS", "<span class=\"long\">Wasserstein-1</span><span class=\"short\">W1</span>",
    "<span class=\"long\">separation</span><span class=\"short\">sep.</span>", "χ²/ndf"};

// "✓ 0.41 of limit", "✗ 3.2 × limit".
std::string verdict_text(const physics::Verdict& verdict) {
  const bool known = verdict.allowed > 0 && std::isfinite(verdict.figure.value);
  if (verdict.judgement() == physics::Judgement::kPassed)
    return element("span", "class=\"ok\"",
                   known ? fmt::format("✓ {} of limit", share_of_limit(verdict.excess())) : "✓ passed");
  if (verdict.judgement() == physics::Judgement::kUndecided) return element("span", "", "? too uncertain");
  return element("span", "class=\"bad\"",
                 known ? fmt::format("✗ {} × limit", share_of_limit(verdict.excess())) : "✗ failed");
}

std::string floor_text(const physics::Figure& figure) {
  return figure.floor > 0 ? with_uncertainty(figure.floor, figure.floor_deviation) : "–";
}

std::string floors_text(const physics::Figure& figure) {
  return figure.floor > 0 && std::isfinite(figure.value) ? times(in_floors(figure)) + " ×" : "–";
}

std::string verdict_cells(const ShowerReport& report, const Ledger& ledger, const physics::Figure& figure) {
  if (!report.gated) return {};
  const physics::Verdict* verdict = ledger.verdict(figure);
  if (verdict == nullptr)
    return table_cell("limit", "–", "class=\"n none\"") + table_cell("verdict", "–", "class=\"none\"");
  return table_cell("limit", short_number(verdict->allowed), "class=\"n\"") +
         table_cell("verdict", verdict_text(*verdict));
}

std::string worst_bin_text(const ShowerReport& report, const Ledger& ledger, const std::string& name) {
  const physics::Figure* worst = ledger.worst_bin(name);
  if (worst == nullptr) return "–";
  const bool failed = ledger.failed(*worst);
  return fmt::format("{} {}",
                     element("span", failed ? "class=\"bad\"" : "", (failed ? "✗ " : "") + short_number(worst->value)),
                     element("small", "", escape(physics::bin_title(*report.reference, worst->bin))));
}

std::string main_row(const ShowerReport& report, const Ledger& ledger, const physics::Figure& figure) {
  return element("tr", "",
                 row_head(figure.title, figure.name) +
                     table_cell("sample", with_uncertainty(figure.value, figure.uncertainty), "class=\"n\"") +
                     table_cell("floor", floor_text(figure), "class=\"n\"") +
                     table_cell("sample / floor", floors_text(figure), "class=\"n\"") +
                     verdict_cells(report, ledger, figure) +
                     table_cell("worst bin", worst_bin_text(report, ledger, figure.name), "class=\"worst\""));
}

// Five shades, from one and a half floors on.
int shade(const physics::Figure& figure) {
  if (!std::isfinite(figure.value)) return 5;
  const double floors = in_floors(figure);
  int steps = 0;
  for (const double from : {1.5, 2.0, 3.0, 5.0, 10.0}) steps += floors >= from ? 1 : 0;
  return steps;
}

std::string distance_cell(const Ledger& ledger, const std::string& distance, const std::string& observable) {
  const physics::Figure* figure = ledger.overall(distance + "." + observable);
  if (figure == nullptr) return element("td", "", "–");
  const bool failed = ledger.failed(*figure);
  const int bins = ledger.failed_bins(figure->name);
  std::string hint = fmt::format("{} (floor {})", with_uncertainty(figure->value, figure->uncertainty),
                                 with_uncertainty(figure->floor, figure->floor_deviation));
  if (const physics::Verdict* verdict = ledger.verdict(*figure))
    hint += fmt::format("; limit {}", short_number(verdict->allowed));
  if (bins > 0) hint += "; over its limit in " + plural(bins, "bin");
  std::string content =
      element("span", failed ? "class=\"bad\"" : "", (failed ? "✗ " : "") + short_number(figure->value));
  content += element("small", "",
                     floors_text(*figure) + (bins > 0 ? element("b", "class=\"bad\"", fmt::format(" ✗{}", bins)) : ""));
  return element("td", fmt::format("class=\"n h{}\" title=\"{}\"", shade(*figure), escape(hint)), content);
}

std::string bin_row(const ShowerReport& report, const Ledger& ledger, const physics::Figure& figure) {
  return element("tr", "",
                 element("th", "scope=\"row\"", element("code", "", escape(figure.name))) +
                     table_cell("sample", with_uncertainty(figure.value, figure.uncertainty), "class=\"n\"") +
                     table_cell("floor", floor_text(figure), "class=\"n\"") +
                     table_cell("sample / floor", floors_text(figure), "class=\"n\"") +
                     verdict_cells(report, ledger, figure));
}

}  // namespace

std::string main_table(const ShowerReport& report, const Ledger& ledger) {
  std::string rows;
  for (const physics::Figure& figure : report.figures)
    if (figure.bin == physics::Bin{} && distance_name(figure.name).distance.empty())
      rows += main_row(report, ledger, figure);
  if (rows.empty()) return element("p", "class=\"quiet\"", "There is nothing to compare.");
  std::vector<std::string> names{"figure", escape(report.sample_name), "floor", "sample / floor"};
  if (report.gated) names.insert(names.end(), {"limit", "verdict"});
  names.emplace_back("worst bin");
  return element("table", "class=\"figures\"", table_heads(names) + element("tbody", "", rows));
}

std::string distance_table(const ShowerReport& report, const Ledger& ledger) {
  std::string rows;
  for (const physics::ObservableInfo& info : physics::observable_table()) {
    std::string row;
    bool any = false;
    for (const char* distance : kDistances) {
      any = any || ledger.overall(fmt::format("{}.{}", distance, info.name)) != nullptr;
      row += distance_cell(ledger, distance, info.name);
    }
    if (!any) continue;
    rows += element("tr", "", row_head(info.title, info.name) + row);
  }
  if (rows.empty()) return {};
  std::vector<std::string> names{"observable"};
  names.insert(names.end(), kDistanceHeads.begin(), kDistanceHeads.end());
  const std::string key =
      element("p", "class=\"key\"",
              "value and value / floor, shaded from " + element("span", "class=\"h1\"", "1.5") +
                  element("span", "class=\"h2\"", "2") + element("span", "class=\"h3\"", "3") +
                  element("span", "class=\"h4\"", "5") + element("span", "class=\"h5\"", "10 floors") +
                  (report.gated && report.judgement() == physics::Judgement::kFailed
                       ? " ✗ over its limit, ✗2 over it in two bins"
                       : ""));
  return element("h2", "", "Observable by observable") +
         element("table", "class=\"distances\"", table_heads(names) + element("tbody", "", rows)) + key;
}

std::string bins_part(const ShowerReport& report, const Ledger& ledger) {
  std::string bodies;
  int figures = 0;
  physics::Bin bin;
  std::string rows;
  const int columns = report.gated ? 6 : 4;
  const auto close = [&] {
    if (rows.empty()) return;
    const std::string title = escape(physics::bin_title(*report.reference, bin));
    bodies += element("tbody", "",
                      element("tr", "class=\"bin\"",
                              element("th", fmt::format("colspan=\"{}\" scope=\"rowgroup\"", columns), title)) +
                          rows);
    rows.clear();
  };
  for (const physics::Figure& figure : report.figures) {
    if (figure.bin == physics::Bin{}) continue;
    if (!(figure.bin == bin)) close();
    bin = figure.bin;
    rows += bin_row(report, ledger, figure);
    ++figures;
  }
  close();
  if (figures == 0) return {};
  std::vector<std::string> names{"figure", escape(report.sample_name), "floor", "sample / floor"};
  if (report.gated) names.insert(names.end(), {"limit", "verdict"});
  return element("details", "",
                 element("summary", "", fmt::format("All {} figures in bins of energy and angle", figures)) +
                     element("table", "class=\"figures bins\"", table_heads(names) + bodies));
}

}  // namespace linac::report
