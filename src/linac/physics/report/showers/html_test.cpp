#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "linac/physics/report/page/html.h"
#include "linac/physics/report/showers/ledger.h"
#include "linac/physics/report/showers/test_report.h"

namespace linac::report {
namespace {

using testing::Case;
using testing::contains;

// What is wrong with the nesting of the page's tags; empty if nothing is.
std::string nesting_fault(const std::string& page) {
  constexpr std::array<const char*, 4> kVoid{"meta", "img", "br", "hr"};
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    if (page[at + 1] == '!') continue;
    const bool closes = page[at + 1] == '/';
    const size_t from = at + (closes ? 2 : 1);
    const std::string name = page.substr(from, page.find_first_of(" >", from) - from);
    if (std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end()) continue;
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes <" + (open.empty() ? "" : open.back()) + ">";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

std::string page_of(const Case& made) {
  return to_html(made.report, draw(made.report));
}

TEST(NestingFault, FindsFaults) {
  EXPECT_EQ(nesting_fault("<a><img x=\"1\"><b>t</b></a>"), "");
  EXPECT_NE(nesting_fault("<a><b></a></b>"), "");
  EXPECT_NE(nesting_fault("<a><b></b>"), "");
  EXPECT_NE(nesting_fault("</a>"), "");
}

TEST(Html, EncodesAndEscapes) {
  EXPECT_EQ(escape("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
  EXPECT_EQ(data_uri("Man"), "data:image/png;base64,TWFu");
  EXPECT_EQ(data_uri("Ma"), "data:image/png;base64,TWE=");
  EXPECT_EQ(data_uri("\xFF"), "data:image/png;base64,/w==");
  EXPECT_EQ(data_uri(""), "data:image/png;base64,");
}

TEST(ToHtml, AFailingSampleSaysWhatFailsFirst) {
  Case made({.lane = 0}, {.lane = 1, .scale = 2});
  made.judge({.limits = {{.figure = "response.mean", .max = 0.02}, {.figure = "profile.z", .max = 1.5, .bins = true}}});
  const std::string page = page_of(made);
  EXPECT_EQ(nesting_fault(page), "");
  const size_t word = page.find(">FAILED<"), name = page.find(">response.mean<");
  ASSERT_NE(word, std::string::npos);
  ASSERT_NE(name, std::string::npos);
  EXPECT_LT(word, name);
  EXPECT_LT(name, page.find("<table"));
  EXPECT_FALSE(contains(page, ">PASSED<"));
  EXPECT_TRUE(contains(page, "1 of 6 figures is outside its limit.")) << "profile.z counts overall and in four bins";
  EXPECT_TRUE(contains(page, "× limit")) << "by how much";
}

TEST(ToHtml, APassingSampleNamesTheClosestFigure) {
  Case made({.lane = 0}, {.lane = 1});
  made.judge({.limits = {{.figure = "*", .max = 1e6, .bins = true}}});
  const std::string page = page_of(made);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_TRUE(contains(page, ">PASSED<"));
  EXPECT_FALSE(contains(page, "✗"));
  const std::string count = std::to_string(made.report.verdicts.size());
  EXPECT_TRUE(contains(page, "All " + count + " figures within their limits. Closest: "));
}

TEST(ToHtml, TooFewShowersAreNotEnoughToJudge) {
  Case made({.lane = 0}, {.lane = 1});
  made.judge({.limits = {{.figure = "*", .max = 1e6, .bins = true}}});
  made.report.gate_showers = 61;  // there are 60
  EXPECT_EQ(made.report.judgement(), physics::Judgement::kUndecided);
  EXPECT_TRUE(to_json(made.report)["passed"].is_null());
  EXPECT_EQ(to_json(made.report)["verdict"], "undecided");
  const std::string page = page_of(made);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_TRUE(contains(page, ">NOT ENOUGH TO JUDGE<"));
  EXPECT_TRUE(contains(page, "The gate judges 61 showers or more on either side."));
  EXPECT_FALSE(contains(page, ">PASSED<"));
  made.report.gate_showers = 60;
  EXPECT_TRUE(made.report.passed());
}

TEST(ToHtml, TooFewShowersFailNoGate) {
  Case made({.lane = 0}, {.lane = 1});
  made.report.figures = {{.name = "fpd", .title = "grows as samples shrink", .value = 1.69, .uncertainty = 0.1}};
  made.judge({.limits = {{.figure = "*", .max = 0.5}}});
  EXPECT_EQ(made.report.judgement(), physics::Judgement::kFailed);
  made.report.gate_showers = 61;  // there are 60
  EXPECT_EQ(made.report.judgement(), physics::Judgement::kUndecided);
  const std::string page = page_of(made);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_TRUE(contains(page, ">NOT ENOUGH TO JUDGE<"));
  EXPECT_TRUE(contains(page, "With these 1 of 1 figures would be outside of the limits"));
}

TEST(ToHtml, WhatIsWithinTwoUncertaintiesOfItsLimitIsNamed) {
  Case made({.lane = 0}, {.lane = 1});
  made.report.figures = {{.name = "kpd", .title = "noise", .value = 0.9, .uncertainty = 1},
                         {.name = "fpd", .title = "signal", .value = 0.5, .uncertainty = 0.1}};
  made.judge({.limits = {{.figure = "*", .max = 0.6}}});
  const std::string page = to_html(made.report, {});
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_TRUE(contains(page, ">NOT ENOUGH TO JUDGE<"));
  EXPECT_TRUE(contains(page, "2 of 2 figures cannot be told from their limits."));
  ASSERT_TRUE(contains(page, "against 0.600"));
  EXPECT_LT(page.find("signal"), page.find("noise")) << "what is smaller than its uncertainty comes last";
}

TEST(ToHtml, WhatIsSmallerThanItsUncertaintyDoesNotStandOut) {
  Case made({.lane = 0}, {.lane = 1, .scale = 3});
  for (physics::Figure& figure : made.report.figures) {
    if (figure.name == "kpd") figure.value = 100, figure.uncertainty = 200, figure.floor = 0.001;
  }
  const std::string page = page_of(made);
  const size_t first = page.find("stands out most");
  ASSERT_NE(first, std::string::npos);
  EXPECT_FALSE(contains(page.substr(page.rfind("<p", first), first - page.rfind("<p", first)), "kpd"));
}

TEST(ToHtml, NoiseIsNotTheWorstBin) {
  Case made({.lane = 0}, {.lane = 1});
  made.report.figures = {{.name = "spectrum", .bin = {0, -1}, .value = 0.9, .uncertainty = 1, .floor = 0.01},
                         {.name = "spectrum", .bin = {1, -1}, .value = 0.5, .uncertainty = 0.1, .floor = 0.1}};
  EXPECT_EQ(Ledger(made.report).worst_bin("spectrum"), &made.report.figures[1]);
}

TEST(ToHtml, ShowsEveryFigure) {
  Case made({.lane = 0}, {.lane = 1});
  made.judge({.limits = {{.figure = "*", .floor = 3, .bins = true}}});
  const std::string page = page_of(made);
  for (const physics::Figure& figure : made.report.figures) {
    const size_t dot = figure.name.find('.');
    const bool in_matrix = figure.bin == physics::Bin{} && dot != std::string::npos &&
                           (figure.name.starts_with("ks.") || figure.name.starts_with("wasserstein.") ||
                            figure.name.starts_with("separation.") || figure.name.starts_with("chi2."));
    EXPECT_TRUE(contains(page, ">" + (in_matrix ? figure.name.substr(dot + 1) : figure.name) + "<")) << figure.name;
  }
  for (int energy = 0; energy < made.reference.energy_bins(); ++energy)
    EXPECT_TRUE(contains(page, ">" + physics::bin_title(made.reference, {energy, -1}) + "<")) << energy;
  EXPECT_TRUE(contains(page, ">showers.h5<"));
}

TEST(ToHtml, WithoutAGateNothingIsJudged) {
  Case made({.lane = 0}, {.lane = 1, .scale = 3});
  const std::string page = page_of(made);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_TRUE(contains(page, ">No gate<"));
  EXPECT_TRUE(contains(page, "stands out most"));
  for (const char* word : {">PASSED<", ">FAILED<", "✓", "✗", ">verdict<"}) EXPECT_FALSE(contains(page, word)) << word;
}

TEST(ToHtml, AGateThatJudgedNothingHasNotPassed) {
  Case made({.lane = 0}, {.lane = 1, .events = 0});
  made.report.gated = true;
  EXPECT_TRUE(made.report.figures.empty());
  EXPECT_FALSE(made.report.passed());
  const std::string page = page_of(made);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_TRUE(contains(page, ">FAILED<"));
}

TEST(ToHtml, EscapesEveryText) {
  Case made({.lane = 0}, {.lane = 1});
  made.judge({.limits = {{.figure = "fpd", .floor = 3}}});
  const std::string evil = "<script>\"'&";
  made.report.title = made.report.reference_name = made.report.sample_name = made.report.gate_name = evil;
  made.report.facts = {{evil, evil}};
  made.report.remarks = {evil};
  for (physics::Figure& figure : made.report.figures) figure.title = evil;
  std::vector<NamedPicture> pictures = draw(made.report);
  pictures[0].title = pictures[0].caption = evil;
  const std::string page = to_html(made.report, pictures);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_FALSE(contains(page, "<script"));
  EXPECT_FALSE(contains(page, evil.substr(1)));
  EXPECT_TRUE(contains(page, escape(evil)));
}

TEST(ToHtml, AsksNothingOfANetwork) {
  Case made({.lane = 0}, {.lane = 1});
  const std::string page = page_of(made);
  for (const char* word : {"http:", "https:", "//", "url(", "@import", "<link", "<script", "srcset"}) {
    // Base64 has slashes too: look beside the pictures.
    std::string rest = page;
    for (size_t at = rest.find("data:"); at != std::string::npos; at = rest.find("data:"))
      rest.erase(at, rest.find('"', at) - at);
    EXPECT_FALSE(contains(rest, word)) << word;
  }
  size_t images = 0, embedded = 0;
  for (size_t at = page.find("<img"); at != std::string::npos; at = page.find("<img", at + 1)) {
    ++images;
    embedded += std::string_view(page).substr(at).starts_with("<img src=\"data:image/png;base64,i") ? 1 : 0;
  }
  EXPECT_EQ(images, draw(made.report).size());
  EXPECT_EQ(embedded, images);
}

TEST(ToHtml, AFigureThatIsNoNumberFails) {
  Case made({.lane = 0}, {.lane = 1});
  for (physics::Figure& figure : made.report.figures)
    if (figure.name == "fpd" || figure.name == "ks.angle") figure.value = std::numeric_limits<double>::quiet_NaN();
  made.judge({.limits = {{.figure = "fpd", .floor = 3}, {.figure = "ks.angle", .max = 1, .bins = true}}});
  EXPECT_FALSE(made.report.passed());
  const std::string page = page_of(made);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_TRUE(contains(page, ">FAILED<"));
  EXPECT_TRUE(contains(page, "not a number"));
  EXPECT_FALSE(contains(page, ">nan"));
}

}  // namespace
}  // namespace linac::report
