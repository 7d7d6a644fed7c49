// What the policy costs beside the least that who knows the market could pay. bench/spot.py runs SpotMarkets with more
// traces, and with recorded ones: LINAC_SPOT_TRACES of each kind, LINAC_SPOT_RECORDED a folder whose folders have
// traces, LINAC_SPOT_RESULT the file for what was found.

#include "linac/base/plan/spot_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"

namespace linac::plan {
namespace {

constexpr double kHour_s = 3600, kForever = std::numeric_limits<double>::infinity();
constexpr double kTick_s = 300, kRecovery_s = 600, kWork_s = 24 * kHour_s, kSpotPrice = 0.3;

TEST(SpotRun, CountsWhatIsPaidAndWhatIsLost) {
  // 0.1 h to begin, then 0.9 h of work, of which 0.15 h are lost; the gap is 1 h.
  const SpotJob job{2 * kHour_s, 0, 0.1 * kHour_s, 0.25 * kHour_s};
  const SpotRun run = carry_out(job, SpotMarket({true, {kHour_s, 2 * kHour_s}}));
  EXPECT_EQ(run.preemptions, 1);
  EXPECT_NEAR(run.lost_s, 0.15 * kHour_s, 1e-6);
  EXPECT_NEAR(run.spot_s, (1 + 0.1 + 1.25) * kHour_s, 1e-6);
  EXPECT_NEAR(run.wall_s, (2 + 0.1 + 1.25) * kHour_s, 1e-6);
  EXPECT_NEAR(run.money(2, 100), 2 * 2.35, 1e-9);
  EXPECT_EQ(carry_out(job, SpotMarket({false, {}})).wall_s, kForever);
}

TEST(SpotRun, EndsWhereNothingIsEverDone) {
  SpotTrace flicker;
  for (int i = 1; i < 300000; ++i) flicker.changes_s.push_back(i);
  EXPECT_EQ(carry_out({100, 0, 10, 0}, SpotMarket(flicker)).wall_s, kForever);
}

// Every sequence of places, a tick each.
double least_of_all(const SpotJob& job, const SpotTrace& trace, double spot_price, int ticks) {
  double least = kForever;
  for (int choice = 0, all = static_cast<int>(std::pow(3, ticks)); choice < all; ++choice) {
    SpotMarket market(trace);
    int place = 0, left = 0;
    double done = 0, cost = 0;
    bool possible = true;
    for (int tick = 0, rest = choice; tick < ticks && done < job.work_s && possible; ++tick, rest /= 3) {
      while (market.until_s() <= tick) market.pass();
      if (rest % 3 != place) left = static_cast<int>(job.recovery_s);
      place = rest % 3;
      possible = place != 1 || market.there();
      if (place == 0) continue;
      cost += place == 1 ? spot_price : 1;
      if (left > 0)
        --left;
      else
        ++done;
    }
    if (possible && done >= job.work_s) least = std::min(least, cost);
  }
  return least;
}

TEST(LeastMoney, IsTheLeastOfAllWays) {
  for (uint32_t number = 0; number < 12; ++number) {
    const SpotTrace trace = made_up_trace({SpotKind::kExponential, 3, 2}, 5, number, 9, 1);
    for (const double recovery_s : {0.0, 1.0, 2.0}) {
      const SpotJob job{4, 9, recovery_s, 0};
      EXPECT_NEAR(least_money(job, trace, 0.3, 1, 1) * 3600, least_of_all(job, trace, 0.3, 9), 1e-9) << number;
    }
  }
  EXPECT_EQ(least_money({4, 4, 1, 0}, {}, 0.3, 1, 1), kForever) << "nobody could";
}

// What the best of all policies costs on average that knows the market's law, and not what is to come: by dynamic
// programming over (moment, work done, place, whether spot is there), in ticks. No work is lost. Exponential lives and
// gaps, seen every tick, are a Markov chain.
double least_expected_money(const SpotJob& job, const SpotRates& rates, double spot_price) {
  const auto ticks = [](double seconds) { return static_cast<int>(std::lround(seconds / kTick_s)); };
  const int work = ticks(job.work_s), recovery = ticks(job.recovery_s), modes = 2 * recovery + 3;
  const double end_rate = 1 / rates.life_s, begin_rate = 1 / rates.gap_s, both = end_rate + begin_rate;
  const double changes = -std::expm1(-both * kTick_s), ends = end_rate / both * changes;
  const double begins = begin_rate / both * changes;
  std::vector<double> later(static_cast<size_t>((work + 1) * modes * 2), kForever), now = later;
  const auto at = [&](int done, int mode, int there) { return static_cast<size_t>((done * modes + mode) * 2 + there); };
  for (int mode = 0; mode < modes; ++mode)
    for (int there = 0; there < 2; ++there) later[at(work, mode, there)] = now[at(work, mode, there)] = 0;
  const auto rest = [&](int done, int mode, int there) {
    const double change = there ? ends : begins;
    return (1 - change) * later[at(done, mode, there)] + change * later[at(done, mode, 1 - there)];
  };
  for (int tick = ticks(job.deadline_s) - 1; tick >= 0; --tick) {
    for (int done = std::max(0, work - (ticks(job.deadline_s) - tick)); done < work; ++done)
      for (int there = 0; there < 2; ++there) {
        const auto run = [&](bool on_demand, int left) {
          const int first = on_demand ? recovery + 2 : 1;
          return (on_demand ? 1 : spot_price) +
                 (left > 0 ? rest(done, first + left - 1, there) : rest(done + 1, first, there));
        };
        const double fresh =
            std::min({rest(done, 0, there), run(true, recovery), there ? run(false, recovery) : kForever});
        now[at(done, 0, there)] = fresh;
        for (int left = 0; left <= recovery; ++left) {
          now[at(done, 1 + left, there)] = there ? std::min(fresh, run(false, left)) : fresh;
          now[at(done, recovery + 2 + left, there)] = std::min(fresh, run(true, left));
        }
      }
    std::swap(now, later);
  }
  const double there = begin_rate / both;
  return (there * later[at(0, 0, 1)] + (1 - there) * later[at(0, 0, 0)]) * kTick_s / kHour_s;
}

struct Market {
  std::string name;
  std::vector<SpotTrace> traces;
  SpotRates rates{};  // of a made-up one
};

std::vector<Market> markets(int traces, double end_s) {
  const auto hours = [](double life, double gap, SpotKind kind = SpotKind::kExponential) {
    return SpotRates{kind, life * kHour_s, gap * kHour_s};
  };
  const std::pair<const char*, SpotRates> kinds[] = {{"exponential, 24 h and 2 h", hours(24, 2)},
                                                     {"exponential, 4 h and 1 h", hours(4, 1)},
                                                     {"exponential, 8 h and 8 h", hours(8, 8)},
                                                     {"exponential, 2 h and 2 h", hours(2, 2)},
                                                     {"exponential, 2 h and 6 h", hours(2, 6)},
                                                     {"exponential, 0.5 h and 0.5 h", hours(0.5, 0.5)},
                                                     {"Weibull, 4 h and 2 h", hours(4, 2, SpotKind::kWeibull)},
                                                     {"diurnal, 4 h and 4 h", hours(4, 4, SpotKind::kDiurnal)},
                                                     {"never", {SpotKind::kNever}},
                                                     {"always", {SpotKind::kAlways}}};
  std::vector<Market> all;
  for (const auto& [name, rates] : kinds) {
    Market market{name, {}, rates};
    for (int one = 0; one < traces; ++one)
      market.traces.push_back(made_up_trace(rates, 1, static_cast<uint32_t>(one), end_s, kTick_s));
    all.push_back(std::move(market));
  }
  const char* recorded = std::getenv("LINAC_SPOT_RECORDED");
  if (recorded == nullptr) return all;
  for (const auto& folder : std::filesystem::directory_iterator(recorded)) {
    Market market{"recorded, " + folder.path().filename().string(), {}, {}};
    for (const auto& file : std::filesystem::directory_iterator(folder))
      market.traces.push_back(parse_spot_trace(read_file(file.path()), file.path()));
    all.push_back(std::move(market));
  }
  return all;
}

TEST(SpotMarkets, TheDeadlineIsKeptForLittleMoreThanTheLeast) {
  const char* wanted = std::getenv("LINAC_SPOT_TRACES");
  const char* result = std::getenv("LINAC_SPOT_RESULT");
  nlohmann::json rows = nlohmann::json::array();
  for (const double room : {1.15, 1.5, 2.0})
    for (const Market& market : markets(wanted != nullptr ? std::atoi(wanted) : 10, room * kWork_s)) {
      const SpotJob job{kWork_s, room * kWork_s, kRecovery_s, kRecovery_s};
      std::vector<double> ratios;
      size_t held = 0;
      double least = 0, paid = 0, lost_s = 0, preemptions = 0;
      for (const SpotTrace& trace : market.traces) {
        const SpotRun run = carry_out(job, SpotMarket(trace));
        const double best = least_money(job, trace, kSpotPrice, 1, kTick_s);
        held += run.wall_s <= job.deadline_s + 1e-3;
        ratios.push_back(run.money(kSpotPrice, 1) / best);
        least += best;
        paid += run.money(kSpotPrice, 1);
        lost_s += run.lost_s;
        preemptions += run.preemptions;
      }
      std::ranges::sort(ratios);
      const auto count = static_cast<double>(ratios.size());
      double mean = 0;
      for (const double ratio : ratios) mean += ratio / count;
      EXPECT_EQ(held, ratios.size()) << market.name << " " << room;
      EXPECT_GE(ratios[0], 1 - 1e-9) << market.name << " " << room << ": less than the least";
      EXPECT_LE(mean, 1.35) << market.name << " " << room;
      rows.push_back(
          {{"market", market.name},
           {"deadline", room},
           {"traces", ratios.size()},
           {"held", held},
           {"median", ratios[ratios.size() / 2]},
           {"mean", mean},
           {"p90", ratios[ratios.size() * 9 / 10]},
           {"least", least / count},
           {"paid", paid / count},
           {"knows_law", result != nullptr && market.rates.kind == SpotKind::kExponential && market.rates.life_s > 0
                             ? least_expected_money(job, market.rates, kSpotPrice)
                             : 0},
           {"lost_h", lost_s / count / kHour_s},
           {"preemptions", preemptions / count}});
    }
  if (result != nullptr) write_file_atomically(result, rows.dump(1) + "\n");
}

}  // namespace
}  // namespace linac::plan
