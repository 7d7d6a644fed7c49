#include "linac/control/tune/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "linac/base/base/test_errors.h"
#include "linac/control/tune/pareto.h"
#include "linac/control/tune/samplers/sobol_sequence.h"
#include "linac/control/tune/test_studies.h"

namespace linac::tune {
namespace {

constexpr uint64_t kSeed = 7;
constexpr double kBudget = 150;

// Some trials at a time; every seventh result is NaN, every eleventh trial fails, every thirteenth is pruned.
class Work {
 public:
  Work(const Space& space, const std::string& name, size_t objectives = 1)
      : history(space, testing::directions(objectives)), sampler_(testing::sampler(name)) {
    history.set_budget(kBudget);
  }

  void start() {
    const int64_t number = next_++;
    history.start(number, suggest(*sampler_, history, kSeed, number));
    running_.push_back(number);
  }
  // Of those that run the middle one ends.
  void end() {
    const auto one = running_.begin() + static_cast<std::ptrdiff_t>(running_.size() / 2);
    const int64_t number = *one;
    running_.erase(one);
    const std::vector<double> values =
        testing::bowls(history.space(), history.find(number)->point, history.objectives());
    history.report(number, 1, values[0] + 1);
    if (number % 5 != 4) history.spend(number, testing::cost(history.space(), history.find(number)->point));
    if (number % 7 == 6)
      history.complete(number, testing::not_numbers(history.objectives()));
    else if (number % 11 == 10)
      history.fail(number, "lost");
    else if (number % 13 == 12)
      history.prune(number, "bad");
    else
      history.complete(number, values);
  }

  History history;

 private:
  std::unique_ptr<Sampler> sampler_;
  std::vector<int64_t> running_;
  int64_t next_ = 0;
};

class EverySampler : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Samplers, EverySampler, ::testing::ValuesIn(sampler_names()), [](const auto& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return c == '-'; });
  return name;
});

// A sampler that lives on keeps what it computed; one that is made anew for each suggestion must say the same.
TEST_P(EverySampler, SuggestsByTheHistoryAlone) {
  const Space numbers = testing::numbers(3), mixed = testing::mixed({"layers * width <= 1024"});
  std::vector<std::pair<const Space*, size_t>> cases{{&numbers, 1}, {&mixed, 1}};
  if (objectives_of(GetParam()) == Objectives::kSeveral) cases.insert(cases.end(), {{&numbers, 3}, {&mixed, 2}});
  for (const auto& [searched, objectives] : cases) {
    const Space& space = *searched;
    Work work(space, GetParam(), objectives);
    for (int i = 0; i < 45; ++i) {
      work.start();
      const Trial& last = work.history.trials().back();
      History before(space, testing::directions(objectives));
      before.set_budget(kBudget);
      // The same records up to that moment: all that was told, and what runs beside it.
      for (const Trial& trial : work.history.trials())
        if (trial.number != last.number) before.start(trial.number, trial.point);
      for (const size_t place : work.history.told()) {
        const Trial& trial = work.history.trials()[place];
        for (const auto& [step, loss] : trial.curve) before.report(trial.number, step, loss);
        if (!std::isnan(trial.cost)) before.spend(trial.number, trial.cost);
        if (trial.state == State::kComplete) before.complete(trial.number, trial.values);
        if (trial.state == State::kInfeasible) before.complete(trial.number, testing::not_numbers(objectives));
        if (trial.state == State::kFailed) before.fail(trial.number, trial.reason);
        if (trial.state == State::kPruned) before.prune(trial.number, trial.reason);
      }
      const Point again = suggest(*testing::sampler(GetParam()), before, kSeed, last.number);
      for (size_t d = 0; d < again.size(); ++d)
        EXPECT_TRUE(again[d] == last.point[d] || (std::isnan(again[d]) && std::isnan(last.point[d])))
            << "trial " << last.number << ", " << space[d].name;
      EXPECT_TRUE(space.allows(last.point));
      if (i >= 4) work.end();
    }
  }
}

TEST_P(EverySampler, RepeatsNoPointUntilAllAreTried) {
  const Space space({{.name = "a", .kind = "categorical", .choices = {"x", "y", "z"}},
                     {.name = "b", .kind = "integer", .low = 1, .high = 5},
                     {.name = "c", .step = 0.5}});
  History history(space);
  const auto sampler = testing::sampler(GetParam());
  std::set<Point> points;
  for (int64_t i = 0; i < 50; ++i) {
    const Point point = suggest(*sampler, history, kSeed, i);
    const bool is_new = points.insert(point).second;
    EXPECT_TRUE(is_new || i >= 45) << "trial " << i;
    history.start(i, point);
    history.complete(i, {testing::bowl(space, point)});
  }
  EXPECT_EQ(points.size(), 45U);
}

// What never gives a result, and what gives the same or the largest numbers there are, stalls nobody.
TEST_P(EverySampler, GoesOnWhateverIsTold) {
  const double most = std::numeric_limits<double>::max();
  for (const double value : {std::nan(""), 1.0, most, -most}) {
    History history(testing::mixed());
    const auto sampler = testing::sampler(GetParam());
    for (int64_t i = 0; i < 30; ++i) {
      history.start(i, suggest(*sampler, history, kSeed, i));  // start() refuses what is not in the space
      history.spend(i, i % 3 == 0 ? 0 : i % 3 == 1 ? most : 1e-300);
      history.complete(i, {i % 2 == 0 ? value : 0.5 * value});
    }
    EXPECT_EQ(history.told().size(), 30U);
  }
}

TEST_P(EverySampler, GoesOnWhateverSeveralObjectivesAre) {
  if (objectives_of(GetParam()) == Objectives::kOne) return;
  const double most = std::numeric_limits<double>::max();
  for (const double value : {std::nan(""), 1.0, most, -most}) {
    History history(testing::mixed(), testing::directions(3));
    const auto sampler = testing::sampler(GetParam());
    for (int64_t i = 0; i < 40; ++i) {
      history.start(i, suggest(*sampler, history, kSeed, i));
      history.complete(i, {i % 2 == 0 ? value : 0.5 * value, 7, i % 3 == 0 ? value : 0});
    }
    EXPECT_EQ(history.told().size(), 40U);
  }
}

TEST_P(EverySampler, SuggestsOtherPointsToThoseWhoAskTogether) {
  Work work(testing::numbers(2), GetParam());
  for (int i = 0; i < 20; ++i) work.start(), work.end();
  for (int i = 0; i < 8; ++i) work.start();
  const auto trials = work.history.trials();
  for (size_t i = trials.size() - 8; i < trials.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(trials[i].point, trials[j].point);
}

TEST(Samplers, ThoseThatLearnFindABowlsBottom) {
  for (const std::string name : {"tpe", "cma-es", "gp", "eipu"}) {
    History history(testing::numbers(3));
    const auto sampler = testing::sampler(name);
    for (int64_t i = 0; i < 60; ++i) {
      history.start(i, suggest(*sampler, history, kSeed, i));
      history.complete(i, {testing::bowl(history.space(), history.find(i)->point)});
    }
    EXPECT_LT(history.best()->losses[0], name == "gp" || name == "eipu" ? 1e-6
                                         : name == "cma-es"             ? 0.02
                                                                        : 0.05)
        << name;
  }
}

// The front of two bowls is the way between their bottoms.
TEST(Samplers, ThoseOfSeveralObjectivesFindTheFront) {
  std::map<std::string, double> covered;
  for (const std::string name : {"random", "tpe", "ehvi", "nsga-ii", "nsga-iii"}) {
    History history(testing::numbers(4), testing::directions(2));
    const auto sampler = testing::sampler(name);
    for (int64_t i = 0; i < 120; ++i) {
      history.start(i, suggest(*sampler, history, kSeed, i));
      history.complete(i, testing::bowls(history.space(), history.find(i)->point, 2));
    }
    std::vector<Losses> front;
    for (const Trial* trial : history.front()) front.push_back(trial->losses);
    covered[name] = hypervolume(front, std::vector{2.0, 1.0});
  }
  EXPECT_GT(covered["tpe"], covered["random"] + 0.1);
  EXPECT_GT(covered["ehvi"], covered["tpe"]);
  EXPECT_GT(covered["nsga-ii"], covered["random"] + 0.1);
  EXPECT_GT(covered["nsga-iii"], covered["random"] + 0.1);
}

// A study of eipu: what its trials behind the startup cost, on average.
double average_cost(double budget, bool costs_are_told, std::vector<Point>* points = nullptr) {
  History history(testing::numbers(2));
  const auto sampler = testing::sampler("eipu");
  double sum = 0;
  for (int64_t i = 0; i < 30; ++i) {
    history.set_budget(budget);
    const Point point = suggest(*sampler, history, kSeed, i);
    history.start(i, point);
    const double cost = testing::cost(history.space(), point);
    if (costs_are_told) history.spend(i, cost);
    if (i % 9 == 8) {
      history.fail(i, "lost");
    } else if (i % 7 == 6) {
      history.report(i, 1, 1);
      history.prune(i, "bad");
    } else {
      history.complete(i, {std::abs(point[1])});  // whatever the first parameter is, which decides on the cost
    }
    if (i >= 10 && i < 20) sum += cost / 10;
    if (points != nullptr) points->push_back(point);
  }
  return sum;
}

TEST(Samplers, CostsAreSparedUntilTheBudgetIsSpent) {
  std::vector<Point> unknown, spent;
  const double plain = average_cost(0, false, &unknown);
  EXPECT_LT(average_cost(0, true), 0.8 * plain) << "cheap points first";
  EXPECT_EQ(average_cost(1e-3, true, &spent), plain);
  EXPECT_EQ(spent, unknown) << "without a budget that is left it is the expected improvement";
  const double cooled = average_cost(100, true);
  EXPECT_NE(cooled, plain);
  EXPECT_NE(cooled, average_cost(0, true));
}

TEST(Samplers, AGridLeavesNothingOut) {
  const Space space({{.name = "a", .kind = "integer", .low = 1, .high = 6}, {.name = "b"}}, {"a * b <= 2.0001"});
  History history(space);
  const auto grid = testing::sampler("grid");
  int count = 0;
  for (int a = 1; a <= 6; ++a)
    for (int b = 0; b < 10; ++b) count += a * b / 9.0 <= 2.0001 ? 1 : 0;
  for (int i = 0; i < count; ++i) {
    const Point point = suggest(*grid, history, kSeed, i);
    EXPECT_NEAR(9 * point[1], std::round(9 * point[1]), 1e-9) << "trial " << i << " is on the grid";
    EXPECT_FALSE(history.seen(point));
    history.start(i, point);
  }
}

TEST(Samplers, SobolPointsAreEven) {
  for (const uint64_t seed : {1U, 2U}) {
    const std::vector<double> points = sobol_points(seed, 64, 5);
    for (size_t d = 0; d < 5; ++d) {
      std::set<int> cells;
      for (size_t i = 0; i < 64; ++i) cells.insert(static_cast<int>(points[5 * i + d] * 64));
      EXPECT_EQ(cells.size(), 64U) << "one in each interval of a 64th";
    }
  }
  EXPECT_NE(sobol_point(1, 3, 2), sobol_point(2, 3, 2));
  EXPECT_EQ(sobol_point(1, 3, 2), (std::vector<double>{sobol_points(1, 4, 2)[6], sobol_points(1, 4, 2)[7]}));
}

TEST(Samplers, ConstraintsThatNothingKeepsAreRefused) {
  History history(testing::mixed({"rate > 1"}));
  const auto sampler = testing::sampler("random");
  expect_in(message_of([&] { suggest(*sampler, history, 1, 0); }), {"[study] constraints", "none of 10000"});
}

TEST(Samplers, UnknownNamesAreRefused) {
  expect_in(message_of([] { testing::sampler("tpee"); }), {"sampler.name", "did you mean 'tpe'?", "cma-es"});
}

}  // namespace
}  // namespace linac::tune
