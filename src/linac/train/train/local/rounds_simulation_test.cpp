// Thousands of schedules of faults, played by test_rounds_simulation.h:
//   LINAC_SIM_SEED=1234 train_test --gtest_filter='RoundsSimulation.*'         replays one, with its events
//   LINAC_SIM_SCHEDULES=100000 train_test --gtest_filter='RoundsSimulation.*'  plays more

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "linac/train/train/local/test_rounds_simulation.h"

namespace linac::train {
namespace {

int64_t wanted(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

TEST(RoundsSimulation, NoScheduleLosesAnEventOrAnIsland) {
  const int64_t only = wanted("LINAC_SIM_SEED", -1), count = only >= 0 ? 1 : wanted("LINAC_SIM_SCHEDULES", 2000);
  const int64_t first = only >= 0 ? only : 1 + wanted("LINAC_SIM_FIRST", 0);
  ::setenv("LINAC_LOG_LEVEL", "error", 0);  // which islands begin anew is audited
  FaultCounts all;
  int64_t rounds = 0, anew = 0, checkpoints = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    RoundsSimulation simulation(static_cast<uint64_t>(seed), only >= 0);
    ASSERT_EQ(simulation.run(), "") << "replay with LINAC_SIM_SEED=" << seed;
    all += simulation.counts();
    rounds += simulation.rounds;
    anew += simulation.anew;
    checkpoints += simulation.checkpoints;
  }
  fmt::print(
      R"({{"schedules": {}, "rounds": {}, "kills": {}, "mid_meetings": {}, "sites": {}, "halts": {}, "partitions": {}, "joins": {}, )"
      R"("leaves": {}, "views": {}, "nobody_survived": {}, "checkpoints": {}, "islands_anew": {}}})"
      "\n",
      count, rounds, all.kills, all.mid_meetings, all.sites, all.halts, all.partitions, all.joins, all.leaves,
      all.views, all.all_lost, checkpoints, anew);
  if (only >= 0) return;
  EXPECT_GE(all.kills, count);
  EXPECT_GE(all.mid_meetings, count / 10) << "in the midst of a round's exchange";
  EXPECT_GE(all.partitions, count / 4);
  EXPECT_GE(all.views, 3 * count);
  EXPECT_GE(anew, count / 50) << "whoever had what an island kept was lost at once";
  EXPECT_LE(all.all_lost, count);
}

}  // namespace
}  // namespace linac::train
