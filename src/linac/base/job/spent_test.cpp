#include "linac/base/job/spent.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"

namespace linac::job {
namespace {

TEST(Spent, EachKindIsCountedInItsUnit) {
  const auto used_up = [](const Budget& limits, double hours, int workers, int64_t steps) {
    const TemporaryFolder folder;
    Spent budget(limits, folder / "spent.json");
    for (int i = 0; i < 2; ++i) budget.count(hours * 1800, workers);
    return budget.used_up(steps);
  };
  EXPECT_EQ(used_up({}, 1000, 8, 1'000'000), "");
  EXPECT_EQ(used_up({.steps = 10}, 0, 1, 9), "");
  EXPECT_EQ(used_up({.steps = 10}, 0, 1, 10), "budget.steps = 10");
  EXPECT_EQ(used_up({.hours = 2}, 1.9, 8, 0), "");
  EXPECT_EQ(used_up({.hours = 2}, 2.1, 1, 0), "budget.hours = 2");
  EXPECT_EQ(used_up({.money = 3, .price = 0.5}, 1.4, 4, 0), "") << "2.8";
  EXPECT_EQ(used_up({.money = 3, .price = 0.5}, 1.6, 4, 0), "budget.money = 3") << "3.2";
  EXPECT_EQ(used_up({.kwh = 1, .watts = 250}, 1.9, 2, 0), "") << "0.95";
  EXPECT_EQ(used_up({.kwh = 1, .watts = 250}, 2.1, 2, 0), "budget.kwh = 1");
  EXPECT_EQ(used_up({.co2_kg = 0.4, .watts = 250, .co2_g_per_kwh = 400}, 1.9, 2, 0), "") << "0.38";
  EXPECT_EQ(used_up({.co2_kg = 0.4, .watts = 250, .co2_g_per_kwh = 400}, 2.1, 2, 0), "budget.co2_kg = 0.4");
}

TEST(Spent, AttemptsBeforeCountAndADamagedFileIsNamed) {
  const TemporaryFolder folder;
  const auto file = folder / "spent.json";
  Spent first({.hours = 1}, file);
  first.count(1800, 2);
  first.save();
  Spent second({.hours = 1}, file);
  EXPECT_EQ(second.used_up(0), "");
  second.count(1800, 2);
  EXPECT_EQ(second.used_up(0), "budget.hours = 1");
  for (const char* damaged : {"", "[]", "{\"seconds\": -1, \"worker_seconds\": 1}", "{\"seconds\": 1}"}) {
    write_file_atomically(file, std::string_view(damaged));
    EXPECT_THROW(Spent({.hours = 1}, file), Error) << damaged;
  }
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THROW(Spent({.hours = 1}, file), Error) << "nobody waits for who writes into it";
}

TEST(Spent, ABudgetThatCountsNothingIsRefused) {
  check_budget({.money = 3, .price = 0.5}, "here", "limits");
  const Budget bad[] = {{.steps = -1},      {.hours = -1}, {.hours = std::nan("")},
                        {.money = 3},       {.kwh = 1},    {.co2_kg = 1, .watts = 100},
                        {.price = HUGE_VAL}};
  for (const Budget& budget : bad)
    expect_in(message_of([&] { check_budget(budget, "here", "limits"); }), {"here", "limits"});
}

TEST(Spent, AMeterTakesTheModelsPlace) {
  const TemporaryFolder folder;
  Spent budget({.kwh = 1, .co2_kg = 0.4, .watts = 1000, .co2_g_per_kwh = 500}, folder / "spent.json");
  budget.count(7200, 1);
  EXPECT_EQ(budget.used_up(0), "budget.kwh = 1");
  budget.measured(0.7);
  EXPECT_EQ(budget.used_up(0), "");
  budget.measured(0.9);
  EXPECT_EQ(budget.used_up(0), "budget.co2_kg = 0.4") << "0.45";
  budget.measured(std::nullopt);
  EXPECT_EQ(budget.used_up(0), "budget.kwh = 1");
}

TEST(Spent, WarnsOnce) {
  const TemporaryFolder folder;
  Spent budget({.steps = 10}, folder / "spent.json");
  EXPECT_FALSE(budget.warning(7));
  EXPECT_TRUE(budget.warning(8));
  EXPECT_FALSE(budget.warning(9));
}

}  // namespace
}  // namespace linac::job
