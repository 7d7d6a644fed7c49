#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/plural.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/showers/page.h"

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

std::string open_question(const ShowerReport& report, const physics::Verdict& verdict) {
  const std::string how =
      fmt::format("{} against {}", with_uncertainty(verdict.figure.value, verdict.figure.uncertainty),
                  short_number(verdict.allowed));
  return element("li", "", element("span", "class=\"how\"", how) + full_name(report, verdict.figure));
}

// The first figures of the report's judgement, which come first, each as `item` shows it.
template <class Item>
std::string listed(const ShowerReport& report, size_t count, const char* mark, const Item& item) {
  std::string items;
  for (size_t i = 0; i < std::min(count, kNamed); ++i) items += item(report, report.verdicts[i]);
  if (count > kNamed)
    items += element("li", "class=\"quiet\"", fmt::format("and {} more, marked {} below", count - kNamed, mark));
  return element("ul", "", items);
}

std::string failures(const ShowerReport& report) {
  const size_t failed = report.count(physics::Judgement::kFailed);
  return element("p", "",
                 fmt::format("{} of {} figures {} outside {} limit{}.", failed, report.verdicts.size(),
                             failed == 1 ? "is" : "are", failed == 1 ? "its" : "their", failed == 1 ? "" : "s")) +
         listed(report, failed, "✗", failure);
}

std::string too_uncertain(const ShowerReport& report) {
  std::string lines;
  if (report.has_too_few_showers()) {
    lines += element("p", "", fmt::format("The gate judges {} showers or more on either side.", report.gate_showers));
  }
  const size_t undecided = report.count(physics::Judgement::kUndecided);
  if (const size_t beyond = report.count(physics::Judgement::kFailed); beyond > 0) {  // of too few showers
    return lines +
           element("p", "",
                   fmt::format("With these {} of {} figures would be outside of the limits, and {} too uncertain.",
                               beyond, report.verdicts.size(), undecided)) +
           listed(report, beyond + undecided, "✗ or ?", open_question);
  }
  if (undecided == 0) return lines;
  return lines +
         element("p", "",
                 fmt::format("{} of {} figures cannot be told from {} limit{}. More showers decide.", undecided,
                             report.verdicts.size(), undecided == 1 ? "its" : "their", undecided == 1 ? "" : "s")) +
         listed(report, undecided, "?", open_question);
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
    if (!(figure.bin == physics::Bin{}) || physics::is_noise(figure)) continue;
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
    kind = "neutral open";
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
