#include "linac/base/plan/spot_trace.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/error.h"

namespace linac::plan {
namespace {

TEST(SpotTrace, IsReadWithItsComments) {
  const SpotTrace trace =
      parse_spot_trace("# a day in May\n0 gone\n\n300 available  # at last\n600 available\n1.5e3 gone", "t");
  EXPECT_FALSE(trace.there);
  EXPECT_EQ(trace.changes_s, (std::vector<double>{300, 1500}));
  SpotMarket market(trace);
  market.pass();
  EXPECT_TRUE(market.there());
  EXPECT_EQ(market.until_s(), 1500);
  market.pass();
  EXPECT_EQ(market.until_s(), std::numeric_limits<double>::infinity());
}

TEST(SpotTrace, IsRefusedWithItsLine) {
  const std::pair<const char*, const char*> bad[] = {{"", "no line"},
                                                     {"# nothing", "no line"},
                                                     {"5 gone", "t:1: '5 gone' is the first line, and not of second 0"},
                                                     {"0 gone\n7 there", "t:2: '7 there' says neither"},
                                                     {"0 gone\n7", "t:2: '7' says neither"},
                                                     {"0 gone\n7 gone\n7 available", "t:3"},
                                                     {"0 gone\n-7 gone", "no number of seconds"},
                                                     {"0 gone\nnan gone", "no number of seconds"},
                                                     {"0 gone\n1e999 gone", "no number of seconds"},
                                                     {"0 gone\n7s gone", "no number of seconds"},
                                                     {"0 gone 3", "has more words"}};
  for (const auto& [text, what] : bad) try {
      parse_spot_trace(text, "t");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData);
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
}

double part_there(const SpotRates& rates, double end_s, double from_day_s = 0, double to_day_s = 86400) {
  const SpotTrace trace = made_up_trace(rates, 3, 0, end_s, 60);
  SpotMarket market(trace);
  double there = 0, all = 0;
  for (double now_s = 0; now_s < end_s; now_s += 60) {
    while (market.until_s() <= now_s) market.pass();
    const double of_day_s = std::fmod(now_s, 86400);
    if (of_day_s < from_day_s || of_day_s >= to_day_s) continue;
    all += 60;
    there += market.there() ? 60 : 0;
  }
  return there / all;
}

TEST(SpotTrace, MadeUpOnesHaveTheirMeans) {
  constexpr double kYear_s = 365 * 86400.0;
  EXPECT_NEAR(part_there({SpotKind::kExponential, 7200, 3600}, kYear_s), 2. / 3, 0.02);
  EXPECT_NEAR(part_there({SpotKind::kWeibull, 7200, 3600}, kYear_s), 2. / 3, 0.02);
  EXPECT_EQ(part_there({SpotKind::kNever}, 86400), 0);
  EXPECT_EQ(part_there({SpotKind::kAlways}, 86400), 1);
  const SpotRates diurnal{SpotKind::kDiurnal, 3600, 3600};
  EXPECT_GT(part_there(diurnal, kYear_s, 0, 3 * 3600), 0.75);
  EXPECT_LT(part_there(diurnal, kYear_s, 12 * 3600, 15 * 3600), 0.25);
  const SpotRates rates{SpotKind::kExponential, 7200, 3600};
  EXPECT_EQ(made_up_trace(rates, 3, 1, 1e6, 60).changes_s, made_up_trace(rates, 3, 1, 1e6, 60).changes_s);
  EXPECT_NE(made_up_trace(rates, 3, 1, 1e6, 60).changes_s, made_up_trace(rates, 3, 2, 1e6, 60).changes_s);
}

}  // namespace
}  // namespace linac::plan
