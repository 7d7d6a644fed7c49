#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/plural.h"
#include "linac/report/page/frame.h"
#include "linac/report/page/html.h"
#include "linac/report/page/numbers.h"
#include "linac/report/showers/page.h"

namespace linac::report {
namespace {

constexpr size_t kNamed = 5;  // figures that the first lines name

// "separation power, width in x, energy 10-40 GeV (separation.x.width)".
std::string full_name(const ShowerReport& report, const physics::Figure& figure) {
  const bool distance = !distance_name(figure.name).distance.empty();
  const std::string bin = physics::bin_title(*report.reference, figure.bin);
  return escape(distance ? fmt::format("{}, {}", physics::family_title(figure.name), figure.title) : figure.title) +
         (bin.empty() ? " " : escape(", " + bin + " ")) + element("code", "", escape(figure.name));
}

std::string failure(const ShowerReport& report, const physics::Verdict& verdict) {
  const double value = verdict.figure.value;
  std::string how;
  if (!std::isfinite(value)) {
    how = short_number(value);
  } else if (verdict.allowed > 0) {
    how = fmt::format("{} × limit", share_of_limit(verdict.excess()));
  } else {
    how = fmt::format("{} above {}", short_number(value), short_number(verdict.allowed));
  }
  return element("li", "", element("span", "class=\"how\"", how) + full_name(report, verdict.figure));
}

std::string failures(const ShowerReport& report) {
  const size_t failed = report.count(physics::Judgement::kFailed);  // they come first
  std::string items;
  for (size_t i = 0; i < std::min(failed, kNamed); ++i) items += failure(report, report.verdicts[i]);
  const std::string rest = failed > kNamed ? fmt::format("and {} more, marked ✗ below", failed - kNamed) : "";
  return element("p", "",
                 fmt::format("{} of {} figures {} outside {} limit{}.", failed, report.verdicts.size(),
                             failed == 1 ? "is" : "are", failed == 1 ? "its" : "their", failed == 1 ? "" : "s")) +
         element("ul", "", items + (rest.empty() ? "" : element("li", "class=\"quiet\"", rest)));
}

std::string too_uncertain(const ShowerReport& report) {
  std::string lines;
  if (report.has_too_few_showers()) {
    lines += element("p", "", fmt::format("The gate judges {} showers or more on either side.", report.gate_showers));
  }
  const size_t undecided = report.count(physics::Judgement::kUndecided);
  if (undecided == 0) return lines;
  return lines + element("p", "",
                         fmt::format("{} of {} figures {} too uncertain to compare with {} limit{}, marked ? below. "
                                     "More showers decide.",
                                     undecided, report.verdicts.size(), undecided == 1 ? "is" : "are",
                                     undecided == 1 ? "its" : "their", undecided == 1 ? "" : "s"));
}

std::string closest(const ShowerReport& report) {
  const physics::Verdict& verdict = report.verdicts.front();
  return element("p", "",
                 fmt::format("All {} within their limits. Closest: {} at {} of its limit.",
                             plural(static_cast<int64_t>(report.verdicts.size()), "figure"),
                             full_name(report, verdict.figure), share_of_limit(verdict.excess())));
}

// Without a gate: what stands out most over all events.
std::string largest(const ShowerReport& report) {
  const physics::Figure* worst = nullptr;
  for (const physics::Figure& figure : report.figures) {
    if (!(figure.bin == physics::Bin{}) || figure.value < figure.uncertainty) continue;
    if (worst == nullptr || in_floors(figure) > in_floors(*worst)) worst = &figure;
  }
  if (worst == nullptr || !(in_floors(*worst) > 0)) return {};
  return element("p", "",
                 fmt::format("Of the figures over all showers {} stands out most: {} × its floor.",
                             full_name(report, *worst), times(in_floors(*worst))));
}

std::string judged_by(const ShowerReport& report) {
  return element(
      "p", "class=\"quiet\"",
      fmt::format("{} ({}) against {} ({}){}", escape(report.sample_name), plural(report.sample->events(), "shower"),
                  escape(report.reference_name), plural(report.reference->events(), "shower"),
                  report.gated ? ", judged by " + element("code", "", escape(report.gate_name)) : ""));
}

}  // namespace

std::string verdict_part(const ShowerReport& report, const Ledger&) {
  std::string word = "No gate", kind = "neutral", lines = largest(report);
  if (report.gated && report.judgement() == physics::Judgement::kPassed) {
    word = "PASSED";
    kind = "passed";
    lines = closest(report);
  } else if (report.gated && report.judgement() == physics::Judgement::kUndecided) {
    word = "NOT ENOUGH TO JUDGE";
    lines = too_uncertain(report);
  } else if (report.gated) {
    word = "FAILED";
    kind = "failed";
    lines = report.verdicts.empty() ? element("p", "", "There was nothing to judge.") : failures(report);
  }
  return element("section", fmt::format("class=\"verdict {}\"", kind),
                 element("p", "class=\"word\"", word) + lines + judged_by(report)) +
         remarks_part(report.remarks);
}

}  // namespace linac::report
