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
// programming over (moment, work done, place, work since a checkpoint, whether spot is there), in ticks. Exponential
// lives and gaps, seen every tick, are a Markov chain.
class KnowsLaw {
 public:
  KnowsLaw(const SpotJob& job, const SpotRates& rates, double spot_price)
      : price_(spot_price),
        work_(ticks(job.work_s)),
        end_(ticks(job.deadline_s)),
        recovery_(ticks(job.recovery_s)),
        parts_(ticks(job.checkpoint_s)) {
    const double end_rate = 1 / rates.life_s, begin_rate = 1 / rates.gap_s, both = end_rate + begin_rate;
    const double changes = -std::expm1(-both * kTick_s);
    change_ = {begin_rate / both * changes, end_rate / both * changes};
    there_ = begin_rate / both;
  }

  double least_money() {
    later_.assign(static_cast<size_t>((work_ + 1) * modes() * 2), kForever);
    for (int mode = 0; mode < modes(); ++mode)
      for (int there = 0; there < 2; ++there) later_[at(work_, mode, there)] = 0;
    std::vector<double> now = later_;
    for (int tick = end_ - 1; tick >= 0; --tick) {
      for (int done = std::max(0, work_ - (end_ - tick)); done < work_; ++done)
        for (int there = 0; there < 2; ++there) fill(now, done, there);
      std::swap(now, later_);
    }
    return (there_ * later_[at(0, 0, 1)] + (1 - there_) * later_[at(0, 0, 0)]) * kTick_s / kHour_s;
  }

 private:
  // Modes: none; spot with so many ticks of its recovery left, from 1; spot with so many since a checkpoint, from 0; on
  // demand with so many of its recovery left, from 0.
  static int ticks(double seconds) { return static_cast<int>(std::lround(seconds / kTick_s)); }
  int modes() const { return 2 + 2 * recovery_ + parts_; }
  int on_spot(int since) const { return 1 + recovery_ + since; }
  int on_demand(int left) const { return 1 + recovery_ + parts_ + left; }
  size_t at(int done, int mode, int there) const { return static_cast<size_t>((done * modes() + mode) * 2 + there); }

  double mean(int there, double as_it_is, double changed) const {
    const double part = change_[static_cast<size_t>(there)];
    return (1 - part) * as_it_is + part * changed;
  }
  double same(int done, int mode, int there) const {
    return mean(there, later_[at(done, mode, there)], later_[at(done, mode, 1 - there)]);
  }
  double tick_on_demand(int done, int left, int there) const {
    return 1 + (left > 0 ? same(done, on_demand(left - 1), there) : same(done + 1, on_demand(0), there));
  }
  double tick_of_start(int done, int left) const {
    return price_ + mean(1, later_[at(done, left > 1 ? left - 1 : on_spot(0), 1)], later_[at(done, 0, 0)]);
  }
  double tick_on_spot(int done, int since) const {
    const int then = (since + 1) % parts_;
    const double taken = done + 1 < work_ ? later_[at(done + 1 - then, 0, 0)] : 0;
    return price_ + mean(1, later_[at(done + 1, on_spot(then), 1)], taken);
  }
  void fill(std::vector<double>& now, int done, int there) const {
    const double fresh = std::min({same(done, 0, there), tick_on_demand(done, recovery_, there),
                                   there != 0 ? tick_of_start(done, recovery_) : kForever});
    const auto staying = [&](double cost) { return there != 0 ? std::min(fresh, cost) : fresh; };
    now[at(done, 0, there)] = fresh;
    for (int left = 1; left <= recovery_; ++left) now[at(done, left, there)] = staying(tick_of_start(done, left));
    for (int since = 0; since < parts_; ++since)
      now[at(done, on_spot(since), there)] = staying(tick_on_spot(done, since));
    for (int left = 0; left <= recovery_; ++left)
      now[at(done, on_demand(left), there)] = std::min(fresh, tick_on_demand(done, left, there));
  }

  double price_, there_ = 0;
  int work_, end_, recovery_, parts_;
  std::array<double, 2> change_{};
  std::vector<double> later_;
};

struct Market {
  std::string name;
  std::vector<SpotTrace> traces;
  SpotRates rates{};  // of a made-up one
};

// kOthers were not looked at while the policy was designed.
enum class Kinds { kUsual, kOthers };

std::vector<Market> markets(int traces, double end_s, Kinds which) {
  const auto hours = [](double life, double gap, SpotKind kind = SpotKind::kExponential) {
    return SpotRates{kind, life * kHour_s, gap * kHour_s};
  };
  const std::vector<std::pair<const char*, SpotRates>> usual = {
      {"exponential, 24 h and 2 h", hours(24, 2)},
      {"exponential, 4 h and 1 h", hours(4, 1)},
      {"exponential, 8 h and 8 h", hours(8, 8)},
      {"exponential, 2 h and 2 h", hours(2, 2)},
      {"exponential, 2 h and 6 h", hours(2, 6)},
      {"exponential, 0.5 h and 0.5 h", hours(0.5, 0.5)},
      {"Weibull, 4 h and 2 h", hours(4, 2, SpotKind::kWeibull)},
      {"diurnal, 4 h and 4 h", hours(4, 4, SpotKind::kDiurnal)},
      {"never", {SpotKind::kNever}},
      {"always", {SpotKind::kAlways}}};
  const std::vector<std::pair<const char*, SpotRates>> others = {
      {"exponential, 12 h and 1 h", hours(12, 1)},
      {"exponential, 5 h and 5 h", hours(5, 5)},
      {"exponential, 3 h and 9 h", hours(3, 9)},
      {"exponential, 1 h and 0.3 h", hours(1, 0.3)},
      {"Weibull, 10 h and 10 h", hours(10, 10, SpotKind::kWeibull)},
      {"Weibull, 1 h and 1 h", hours(1, 1, SpotKind::kWeibull)},
      {"diurnal, 8 h and 2 h", hours(8, 2, SpotKind::kDiurnal)}};
  std::vector<Market> all;
  for (const auto& [name, rates] : which == Kinds::kUsual ? usual : others) {
    Market market{name, {}, rates};
    for (int one = 0; one < traces; ++one)
      market.traces.push_back(made_up_trace(rates, 1, static_cast<uint32_t>(one), end_s, kTick_s));
    all.push_back(std::move(market));
  }
  const char* recorded = std::getenv("LINAC_SPOT_RECORDED");
  if (recorded == nullptr || which == Kinds::kUsual) return all;
  for (const auto& folder : std::filesystem::directory_iterator(recorded)) {
    Market market{"recorded, " + folder.path().filename().string(), {}, {}};
    for (const auto& file : std::filesystem::directory_iterator(folder))
      market.traces.push_back(parse_spot_trace(read_file(file.path()), file.path()));
    all.push_back(std::move(market));
  }
  return all;
}

struct Found {
  double paid = 0, mean = 0, lost_s = 0, preemptions = 0;  // a trace
  size_t held = 0;
  std::vector<double> ratios{};  // to the least; ascending
};

Found found(const SpotJob& job, const Market& market, const std::vector<double>& least, SpotSight sight) {
  Found all;
  const auto count = static_cast<double>(market.traces.size());
  for (size_t one = 0; one < market.traces.size(); ++one) {
    const SpotRun run = carry_out(job, SpotMarket(market.traces[one]), sight);
    all.held += run.wall_s <= job.deadline_s + 1e-3;
    all.ratios.push_back(run.money(kSpotPrice, 1) / least[one]);
    all.mean += all.ratios.back() / count;
    all.paid += run.money(kSpotPrice, 1) / count;
    all.lost_s += run.lost_s / count;
    all.preemptions += run.preemptions / count;
  }
  std::ranges::sort(all.ratios);
  return all;
}

TEST(SpotMarkets, TheDeadlineIsKeptForLittleMoreThanTheLeast) {
  const char* wanted = std::getenv("LINAC_SPOT_TRACES");
  const int traces = wanted != nullptr ? std::atoi(wanted) : 10;
  const char* result = std::getenv("LINAC_SPOT_RESULT");
  nlohmann::json rows = nlohmann::json::array();
  const auto judge = [&](double room, Kinds which) {
    for (const Market& market : markets(traces, room * kWork_s, which)) {
      const SpotJob job{kWork_s, room * kWork_s, kRecovery_s, kRecovery_s, kSpotPrice};
      std::vector<double> least;
      double sum = 0;
      for (const SpotTrace& trace : market.traces) {
        least.push_back(least_money(job, trace, kSpotPrice, 1, kTick_s));
        sum += least.back();
      }
      const size_t count = least.size();
      const Found seen = found(job, market, least, SpotSight::kMarket);
      const Found unseen = found(job, market, least, SpotSight::kOwnMachine);
      EXPECT_EQ(seen.held, count) << market.name << " " << room;
      EXPECT_EQ(unseen.held, count) << market.name << " " << room;
      EXPECT_GE(seen.ratios[0], 1 - 1e-9) << market.name << " " << room << ": less than the least";
      if (which == Kinds::kUsual) {
        EXPECT_LE(seen.mean, 1.3) << market.name << " " << room;
        EXPECT_LE(unseen.mean, 1.5) << market.name << " " << room;
      }
      const bool has_law = market.rates.kind == SpotKind::kExponential && market.rates.life_s > 0;
      rows.push_back({{"market", market.name},
                      {"deadline", room},
                      {"looked_at", which == Kinds::kUsual},
                      {"traces", count},
                      {"held", seen.held},
                      {"median", seen.ratios[count / 2]},
                      {"mean", seen.mean},
                      {"p90", seen.ratios[count * 9 / 10]},
                      {"least", sum / static_cast<double>(count)},
                      {"paid", seen.paid},
                      {"unseen_held", unseen.held},
                      {"unseen_mean", unseen.mean},
                      {"knows_law", has_law ? KnowsLaw(job, market.rates, kSpotPrice).least_money() : 0},
                      {"lost_h", seen.lost_s / kHour_s},
                      {"preemptions", seen.preemptions}});
    }
  };
  for (const double room : {1.15, 1.5, 2.0}) judge(room, Kinds::kUsual);
  if (result != nullptr)
    for (const double room : {1.15, 1.5, 2.0}) judge(room, Kinds::kOthers);
  if (result != nullptr) write_file_atomically(result, rows.dump(1) + "\n");
}

}  // namespace
}  // namespace linac::plan
