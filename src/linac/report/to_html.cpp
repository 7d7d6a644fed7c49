#include <fmt/format.h>

#include "linac/base/error.h"
#include "linac/report/html.h"
#include "linac/report/page.h"
#include "linac/report/pictures.h"

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

std::string pictures_part(const ShowerReport& report, const std::vector<NamedPicture>& pictures) {
  std::string figures;
  for (const NamedPicture& one : pictures) {
    const int64_t width = one.picture.width / 2, height = one.picture.height / 2;
    const std::string about = fmt::format("{}: {} and {}", one.title, report.reference_name, report.sample_name);
    const std::string image = fmt::format("<img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}\">",
                                          data_uri(one.picture.png), width, height, escape(about));
    figures += element("figure", width > kNarrow ? "class=\"wide\"" : "",
                       element("div", "class=\"sheet\"", image) +
                           element("figcaption", "", element("b", "", escape(one.title)) + escape(one.caption)));
  }
  return figures.empty() ? "" : element("h2", "", "Pictures") + element("div", "class=\"pictures\"", figures);
}

std::string facts_part(const ShowerReport& report) {
  std::string list;
  for (const auto& [name, value] : report.facts) {
    list += element("div", "", element("dt", "", escape(name)) + element("dd", "", escape(value)));
  }
  return list.empty() ? "" : element("h2", "", "Facts") + element("dl", "", list);
}

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
  const std::string title = escape(report.title);
  const std::string head = "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n" +
                           element("title", "", title) + element("style", "", page_style());
  const std::string main = element("h1", "", title) + verdict_part(report, ledger) +
                           element("h2", "", "Figures over all showers") + main_table(report, ledger) +
                           distance_table(report, ledger) + bins_part(report, ledger) +
                           pictures_part(report, pictures) + facts_part(report) + reading_part(report);
  return "<!DOCTYPE html>\n" +
         element("html", "lang=\"en\"", element("head", "", head) + element("body", "", element("main", "", main)));
}

}  // namespace linac::report
