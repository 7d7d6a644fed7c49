#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/showers/page.h"

namespace linac::report {
namespace {

constexpr const char* kReading =
    "Every figure measures a difference: 0 means that both samples look as if they came from one distribution (χ²/ndf: "
    "1). It is never exactly 0, because showers fluctuate. The <em>floor</em> is the same figure between random halves "
    "of the reference, so it is what pure chance gives; a sample near its floor cannot be told from the reference with "
    "so many showers, and one at many floors can. Two halves scatter like the reference against a sample of a third of "
    "its size: to larger samples the floor is generous, to smaller ones tight. Behind each value stands its "
    "<em>uncertainty</em>, one standard deviation over bootstrap replicas "
    "(both samples drawn again, with replacement), and behind each floor its spread over the halves. A limit is so "
    "many floors, or a fixed value.";

}  // namespace

std::string reading_part(const ShowerReport& report) {
  return element("h2", "", "How to read this") +
         element("p", "class=\"reading\"",
                 fmt::format("{} Energies are in GeV; a cell counts as hit above {:g} GeV, and everything else counts "
                             "all cells.",
                             kReading, report.hit_threshold_gev));
}

std::string to_html(const ShowerReport& report, const std::vector<NamedPicture>& pictures) {
  LINAC_CHECK(report.reference != nullptr && report.sample != nullptr);
  const Ledger ledger(report);
  const std::string about = fmt::format("{} and {}", report.reference_name, report.sample_name);
  return whole_page(report.title, verdict_part(report, ledger) + element("h2", "", "Figures over all showers") +
                                      main_table(report, ledger) + distance_table(report, ledger) +
                                      bins_part(report, ledger) + pictures_part(about, pictures) +
                                      facts_part(report.facts) + reading_part(report));
}

}  // namespace linac::report
