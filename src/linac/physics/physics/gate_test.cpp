#include "linac/physics/physics/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/physics/physics/observables.h"
#include "linac/physics/physics/sample.h"

namespace linac::physics {
namespace {

class GateTest : public testing::Test {
 protected:
  Gate gate(const std::string& text) const {
    std::ofstream(folder_ / "gate.yaml") << text;
    return read_gate(folder_ / "gate.yaml");
  }
  std::string refusal(const std::string& text) const {
    try {
      gate(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  const TemporaryFolder folder_;
  const std::vector<Figure> figures_{{.name = "ks.response", .value = 0.2, .floor = 0.05},
                                     {.name = "ks.hits", .value = 0.1, .floor = 0.05},
                                     {.name = "ks.hits", .bin = {1, -1}, .value = 0.9, .floor = 0.05},
                                     {.name = "linearity", .value = 0.004, .floor = 0.001},
                                     {.name = "fpd", .value = std::nan("")}};
};

// The only verdict on a figure under an absolute limit of 0.15.
Judgement judged(const Figure& figure) {
  return judge({.limits = {{.figure = figure.name, .max = 0.15}}}, {figure}).at(0).judgement();
}

TEST_F(GateTest, HasASmallestSample) {
  EXPECT_EQ(gate("limits: [{figure: linearity, max: 1}]").showers, 100) << "where it names none";
  EXPECT_NE(refusal("{showers: -5, limits: [{figure: linearity, max: 1}]}").find("showers = -5; give 30 or more"),
            std::string::npos);
  EXPECT_NE(refusal("{showers: 2, limits: [{figure: linearity, max: 1}]}").find("give 30 or more"), std::string::npos);
}

TEST_F(GateTest, JudgesWorstFirst) {
  const auto verdicts = judge(gate("limits: [{figure: 'ks.*', floor: 3, cap: 1}, "
                                   "{figure: linearity, max: 0.005, floor: 2, cap: 1}]"),
                              figures_);
  ASSERT_EQ(verdicts.size(), 3U);
  EXPECT_EQ(verdicts[0].figure.name, "ks.response");
  EXPECT_EQ(verdicts[0].judgement(), Judgement::kFailed);
  EXPECT_NEAR(verdicts[0].allowed, 0.15, 1e-12);
  EXPECT_TRUE(verdicts[1].passed());
  EXPECT_EQ(verdicts[1].figure.name, "linearity");  // 0.8 of its limit, the more generous of 0.005 and 0.002
  EXPECT_NEAR(verdicts[1].excess(), 0.8, 1e-12);
}

TEST_F(GateTest, BinsOnlyWhenAskedAndNaNNeverPasses) {
  EXPECT_EQ(judge(gate("limits: [{figure: 'ks.*', floor: 3, cap: 1, bins: true}]"), figures_).size(), 3U);
  const auto verdicts = judge(gate("limits: [{figure: 'ks.*', max: 0.01}, {figure: fpd, max: 1}]"), figures_);
  EXPECT_EQ(verdicts[0].figure.name, "fpd") << "the worst";
  EXPECT_EQ(verdicts[0].judgement(), Judgement::kFailed);
}

TEST_F(GateTest, ALargeFloorAllowsNoMoreThanTheCap) {
  const auto allowed = [&](double floor) {
    return judge(gate("limits: [{figure: fpd, floor: 4, cap: 0.5}]"), {{.name = "fpd", .value = 0.1, .floor = floor}})
        .at(0)
        .allowed;
  };
  EXPECT_NEAR(allowed(0.1), 0.4, 1e-12);
  EXPECT_NEAR(allowed(0.3), 0.5, 1e-12);
  EXPECT_NEAR(allowed(3), 0.5, 1e-12);
}

TEST_F(GateTest, WithinTwoUncertaintiesOfTheLimitNothingIsDecided) {
  const auto of = [](double value) { return judged({.name = "linearity", .value = value, .uncertainty = 0.02}); };
  EXPECT_EQ(of(0.1), Judgement::kPassed);
  EXPECT_EQ(of(0.12), Judgement::kUndecided);
  EXPECT_EQ(of(0.18), Judgement::kUndecided);
  EXPECT_EQ(of(0.2), Judgement::kFailed);
  EXPECT_EQ(judged({.name = "linearity", .value = 0.001, .uncertainty = 0.08}), Judgement::kUndecided)
      << "an uncertainty as large as the limit";
}

TEST_F(GateTest, WhatHalvesOfTheReferenceDifferByIsNoFailure) {
  Figure figure{.name = "linearity", .value = 0.3, .uncertainty = 0.02, .floor = 0.2, .floor_deviation = 0.04};
  EXPECT_EQ(judged(figure), Judgement::kUndecided);
  figure.value = 0.33;
  EXPECT_EQ(judged(figure), Judgement::kFailed);
}

TEST_F(GateTest, NoiseDoesNotHeadTheList) {
  const std::vector<Figure> figures{{.name = "kpd", .value = 0.14, .uncertainty = 0.145},
                                    {.name = "fpd", .value = 0.14, .uncertainty = 0.02},
                                    {.name = "linearity", .value = 0.05, .uncertainty = 0.01}};
  const auto verdicts = judge(gate("limits: [{figure: '*', max: 0.15}]"), figures);
  EXPECT_EQ(verdicts[0].figure.name, "fpd");
  EXPECT_EQ(verdicts[1].figure.name, "kpd") << "undecided too, but smaller than its uncertainty";
  EXPECT_EQ(verdicts[2].judgement(), Judgement::kPassed);
  const auto passed = judge(gate("limits: [{figure: '*', max: 1}]"), figures);
  EXPECT_EQ(passed[0].figure.name, "fpd");
  EXPECT_EQ(passed[2].figure.name, "kpd");
}

TEST_F(GateTest, NamesWhatIsWrong) {
  EXPECT_NE(refusal("limits: []").find("no limits"), std::string::npos);
  EXPECT_NE(refusal("limits: [{figure: fpd}]").find("neither max nor floor"), std::string::npos);
  EXPECT_NE(refusal("limits: [{figure: fpd, max: 1, cap: 0.5}]").find("a cap of 0.5"), std::string::npos);
  for (const char* capless : {"limits: [{figure: fpd, floor: 4}]", "limits: [{figure: fpd, floor: 4, max: 0.1}]"}) {
    const std::string text = refusal(capless);
    EXPECT_NE(text.find("gate.yaml: the limit of 'fpd' is in floors"), std::string::npos) << text;
    EXPECT_NE(text.find("{figure: fpd, floor: 4, cap: "), std::string::npos) << text;
  }
  EXPECT_NE(refusal("limits: [{figur: fpd, max: 1}]").find("figure"), std::string::npos);
  EXPECT_THROW(read_gate(folder_ / "none.yaml"), Error);
  try {
    judge(gate("limits: [{figure: ks.respons, max: 1}]"), figures_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'ks.response'"), std::string::npos) << error.what();
  }
}

constexpr EventShape kShape{3, 3, 4};

// Showers whose response to the same energies has a core and, as where showers leak, a tail. Its deviations from the
// mean are `widths` times those of the reference.
Sample leaking_showers(int events, uint32_t lane, uint32_t showers, double widths) {
  Sample sample(kShape,
                {.energy_edges = {10, 100}, .angle_edges = {1, 2}, .bootstraps = 40, .halves = 8, .lane = lane});
  Observer observer(kShape, 1e-4);
  std::vector<float> core(static_cast<size_t>(events)), leak(core.size());
  fill_normal({.seed = 5, .lane = 2 * showers}, core);
  fill_uniform({.seed = 5, .lane = 2 * showers + 1}, leak);
  for (size_t event = 0; event < core.size(); ++event) {
    const double deviation = 0.03 * core[event] - (leak[event] < 0.05 ? 10 * leak[event] : 0);
    const double energy = 10 + static_cast<double>(event * 37 % 90);
    const auto cell = static_cast<float>(1e-3 * energy * std::max(0.01, 1 + widths * deviation));
    sample.add(observer.observe(std::vector<float>(static_cast<size_t>(kShape.cells()), cell), energy, 1.5));
  }
  return sample;
}

// A width that is wrong by 113 %: four floors alone let it pass with 64 showers, whose halves differ by that much.
TEST_F(GateTest, AWrongWidthPassesWithNoNumberOfShowers) {
  const Gate strict = gate("limits: [{figure: response.width, floor: 4, cap: 0.3}]");
  for (const int events : {64, 500, 2000}) {
    const Sample reference = leaking_showers(events, 1, 1, 1);
    const auto verdict_on = [&](const Sample& sample) { return judge(strict, compare(reference, sample)).at(0); };
    const Verdict wrong = verdict_on(leaking_showers(events, 2, 1, 2.13)),
                  right = verdict_on(leaking_showers(events, 2, 2, 1));
    SCOPED_TRACE(testing::Message() << events << " showers, off by " << wrong.figure.value << " +- "
                                    << wrong.figure.uncertainty << ", floor " << wrong.figure.floor);
    EXPECT_NEAR(wrong.figure.value, 1.13, 0.1);
    EXPECT_FALSE(wrong.passed());
    EXPECT_NE(right.judgement(), Judgement::kFailed);
    EXPECT_EQ(wrong.figure.value < 4 * wrong.figure.floor, events == 64) << "the floors alone";
    EXPECT_FALSE(right.judgement() == Judgement::kFailed);
    EXPECT_TRUE(events < 2000 || (wrong.judgement() == Judgement::kFailed && right.passed()));
  }
}

}  // namespace
}  // namespace linac::physics
