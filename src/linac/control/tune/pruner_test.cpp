#include "linac/control/tune/pruner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/test_errors.h"
#include "linac/control/tune/test_studies.h"

namespace linac::tune {
namespace {

class Pruners : public ::testing::Test {
 protected:
  const Trial& start(const std::vector<double>& curve) {
    history_.start(next_, {0.01 * static_cast<double>(next_)});
    for (size_t i = 0; i < curve.size(); ++i) history_.report(next_, static_cast<int64_t>(i) + 1, curve[i]);
    return *history_.find(next_++);
  }
  void complete(const std::vector<double>& curve) {
    const int64_t number = start(curve).number;
    history_.complete(number, {curve.back()});
  }
  Verdict ask(const PrunerSettings& settings, const std::vector<double>& curve) {
    const int64_t number = start(curve).number;
    return make_pruner(settings)->verdict(history_, *history_.find(number));
  }

  History history_{testing::numbers(1)};
  int64_t next_ = 0;
};

TEST_F(Pruners, TheMedianIsTheMedian) {
  const PrunerSettings settings{.name = "median", .startup = 4};
  for (const double loss : {1.0, 2.0, 3.0}) complete({loss, loss});
  EXPECT_FALSE(ask(settings, {9}).stop) << "three are too few";
  complete({1000, 1000});
  // Of 1, 2, 3, 1000: 2.5; their mean is 251.5.
  EXPECT_FALSE(ask(settings, {2.4}).stop);
  const Verdict verdict = ask(settings, {2.6});
  EXPECT_TRUE(verdict.stop);
  EXPECT_NE(verdict.reason.find("the median of 4 trials is 2.5"), std::string::npos) << verdict.reason;
  EXPECT_FALSE(ask(settings, {2.4, 9}).stop) << "its best loss counts";
  EXPECT_TRUE(ask(settings, {std::nan("")}).stop);
  EXPECT_FALSE(ask({.name = "median", .steps_min = 2, .startup = 4}, {9}).stop) << "too early";
}

TEST_F(Pruners, AshaLetsOneInSoManyGoOn) {
  const PrunerSettings settings{.name = "asha", .steps_min = 1, .factor = 3};
  EXPECT_FALSE(ask(settings, {5}).stop) << "the first one waits for nobody";
  EXPECT_TRUE(ask(settings, {6}).stop);
  EXPECT_FALSE(ask(settings, {4}).stop);
  EXPECT_TRUE(ask(settings, {4.5}).stop) << "one of four goes on";
  EXPECT_TRUE(ask(settings, {4.5}).stop) << "one of five";
  EXPECT_FALSE(ask(settings, {4.2}).stop) << "two of six";
  EXPECT_FALSE(ask(settings, {9, 9}).stop) << "step 2 is between the rungs 1 and 3";
  EXPECT_FALSE(ask(settings, {9, 9, 9}).stop) << "the first one at the rung 3";
  EXPECT_TRUE(ask(settings, {std::nan(""), std::nan(""), std::nan("")}).stop);
}

TEST_F(Pruners, HyperbandComparesWithinABracket) {
  // Three brackets of 9, 5 and 3 trials, whose first rungs are 1, 3 and 9.
  const PrunerSettings settings{.name = "hyperband", .steps_min = 1, .steps_max = 9, .factor = 3};
  std::vector<bool> stopped;
  for (int i = 0; i < 17; ++i) stopped.push_back(ask(settings, {1.0 + i}).stop);
  for (int i = 0; i < 17; ++i) EXPECT_EQ(stopped[static_cast<size_t>(i)], i >= 1 && i < 9) << i;
}

TEST_F(Pruners, PatienceAsksForAGain) {
  const PrunerSettings settings{.name = "patience", .patience = 3, .least_gain = 0.1};
  EXPECT_FALSE(ask(settings, {3, 2.95, 2.92}).stop);
  EXPECT_TRUE(ask(settings, {3, 2.95, 2.92, 2.91}).stop);
  EXPECT_FALSE(ask(settings, {3, 2.95, 2.92, 2.8}).stop);
  EXPECT_TRUE(ask(settings, {std::nan(""), std::nan(""), std::nan("")}).stop);
}

TEST_F(Pruners, WilcoxonComparesCaseByCase) {
  const PrunerSettings settings{.name = "wilcoxon", .startup = 1, .p_value = 0.05};
  complete({1, 5, 2, 8, 3, 6, 4, 7});
  EXPECT_TRUE(ask(settings, {1.1, 5.2, 2.3, 8.4, 3.5, 6.6, 4.7, 7.8}).stop) << "every case is worse";
  EXPECT_FALSE(ask(settings, {0.9, 5.2, 1.7, 8.4, 2.5, 6.6, 3.3, 7.8}).stop) << "half of them are";
  EXPECT_FALSE(ask(settings, {1.1, 5.2}).stop) << "two cases say little";
  EXPECT_FALSE(ask(settings, {1, 5, 2, 8, 3, 6, 4, 7}).stop) << "all equal";
}

TEST_F(Pruners, SettingsAreChecked) {
  expect_in(message_of([] { make_pruner({.name = "hyperbnd"}); }), {"pruner.name", "did you mean 'hyperband'?"});
  expect_in(message_of([] { make_pruner({.name = "asha", .factor = 1}); }), {"pruner.factor", "2 or more"});
  expect_in(message_of([] { make_pruner({.name = "median", .startup = 0}); }), {"pruner.startup"});
  expect_in(message_of([] { make_pruner({.name = "hyperband", .steps_min = 9, .steps_max = 3}); }), {"steps_max"});
}

}  // namespace
}  // namespace linac::tune
