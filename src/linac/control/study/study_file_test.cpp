#include "linac/control/study/study_file.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"
#include "linac/base/job/job.h"

namespace linac::study {
namespace {

Study parsed(const std::string& text) {
  return parse_study(text, "s.yaml", {.job_folder = "/", .working_folder = {}});
}

TEST(StudyFile, ReadsWhatItWrites) {
  const Study study = parsed(
      "search:\n  x: {low: -1, high: 1}\n  n: {kind: integer, low: 1, high: 4}\n  how: {kind: categorical, choices: "
      "[a, b]}\n"
      "objective: {command: true}\nseed: 7\nbudget: {trials: 3}\nparallel: 2\n");
  const Study again = parsed(study.to_yaml());
  EXPECT_EQ(again.to_yaml(), study.to_yaml());
  EXPECT_EQ(again.identity(), study.identity());
  EXPECT_EQ(again.settings.budget.trials, 3);
  EXPECT_EQ(again.space().size(), 3u);
  EXPECT_TRUE(study.job.empty());
}

TEST(StudyFile, BudgetAndParallelAreNoPartOfItsIdentity) {
  const std::string text = "search: {x: {low: 0, high: 1}}\nobjective: {command: true}\n";
  EXPECT_EQ(parsed(text).identity(), parsed(text + "budget: {trials: 99, cost: 5}\nparallel: 3\n").identity());
  EXPECT_NE(parsed(text).identity(), parsed(text + "seed: 2\n").identity());
  EXPECT_NE(parsed(text).identity(), parsed(text + "sampler: {name: random}\n").identity());
  expect_in(message_of([&] { parsed(text + "budget: {cost: -1}\n"); }), {"budget.cost", "-1"});
  for (const char* cost : {".nan", ".inf"})
    expect_in(message_of([&] { parsed(text + "budget: {cost: " + cost + "}\n"); }), {"budget.cost"});
}

TEST(StudyFile, ANameAloneIsNoJob) {
  const std::string text = "search: {x: {low: 0, high: 1}}\nobjective: {metric: v, direction: minimize}\n";
  EXPECT_EQ(parsed("name: mine\n" + text).identity(), parsed(text).identity());
  EXPECT_EQ(parsed("{name: mine, search: {x: {low: 0, high: 1}}, objective: {metric: v, direction: minimize}}").job,
            "");
}

// Both have a budget; the file's is the study's.
TEST(StudyFile, AResolvedJobDoesNotBringItsBudget) {
  Study study = parsed(
      "search:\n  train.seed: {kind: integer, low: 1, high: 4}\nobjective: {metric: loss}\ndata: {train: "
      "[\"s3://b/a.h5\"]}\n");
  study.job = job::to_yaml(job::parse_job(study.job, "the job", {"budget.steps=3"}));
  const Study again = parsed(study.to_yaml());
  EXPECT_EQ(again.settings.budget.trials, BudgetSettings().trials);
  EXPECT_EQ(job::parse_job(again.job, "the job", {}).budget.steps, 0);
}

// The job's part keeps its lines, so that its errors name the right ones.
TEST(StudyFile, ErrorsOfTheJobNameTheLinesOfTheFile) {
  const std::string text =
      "search:\n  train.optimizer.lr: {kind: log, low: 0.1, high: 1}\nobjective: {metric: loss}\ntrain:\n  epohs: 3\n";
  expect_in(message_of([&] { parsed(text); }), {"s.yaml:5"});
  expect_in(message_of([&] { parsed("{search: {x: {low: 0, high: 1}}, objective: {metric: loss}, trian: {}}"); }),
            {"trian"});
}

TEST(StudyFile, AKeyThatTheJobDoesNotHaveIsNamed) {
  expect_in(message_of([] {
              parsed(
                  "data: {train: [https://host/a.parquet]}\nsearch:\n  train.lrr: {low: 0, high: 1}\nobjective: "
                  "{metric: loss}\n");
            }),
            {"train.lrr"});
}

TEST(StudyFile, WhetherMoreIsBetter) {
  const auto direction = [](const std::string& objective) {
    return parsed("search: {x: {low: 0, high: 1}}\nobjective: " + objective + "\n").directions().front();
  };
  EXPECT_EQ(direction("{metric: auc}"), tune::Direction::kMaximize);
  EXPECT_EQ(direction("{metric: loss}"), tune::Direction::kMinimize);
  EXPECT_EQ(direction("{metric: mine, direction: maximize}"), tune::Direction::kMaximize);
  EXPECT_EQ(direction("{}"), tune::Direction::kMinimize);
  expect_in(message_of([&] { direction("{metric: mine}"); }), {"objective.direction"});
}

TEST(StudyFile, SeveralObjectivesAreAList) {
  const std::string search = "search: {x: {low: 0, high: 1}}\n";
  const Study study =
      parsed(search + "objective: [{command: true}, {metric: auc}, {metric: size, direction: minimize}]\n");
  EXPECT_EQ(study.objective_names(), (std::vector<std::string>{"loss", "auc", "size"}));
  using tune::Direction;
  EXPECT_EQ(study.directions(), (std::vector{Direction::kMinimize, Direction::kMaximize, Direction::kMinimize}));
  EXPECT_EQ(parsed(study.to_yaml()).identity(), study.identity());
  const auto refused = [&](const std::string& rest) { return message_of([&] { parsed(search + rest); }); };
  const std::string two = "objective: [{metric: loss}, {metric: auc}]\n";
  expect_in(refused("objective: []\n"), {"objective: 0 are not possible"});
  expect_in(refused(two + "sampler: {name: gp}\n"), {"sampler.name", "gp has one objective", "nsga-ii"});
  expect_in(refused(two + "pruner: {name: asha}\n"), {"pruner.name", "2 objectives"});
  expect_in(refused("objective: [{metric: loss}, {metric: loss}]\n"), {"objective[1].metric", "twice"});
  expect_in(refused("objective: [{metric: loss}, {}]\n"), {"objective[1]", "name a metric"});
  expect_in(refused("objective: [{metric: loss}, {command: true}]\n"), {"objective[1].command"});
  expect_in(refused("objective: [{metric: loss}, {metric: mine}]\n"), {"objective[1].direction"});
  expect_in(refused("objective: [{metric: loss}, {metric: auc, take: last}]\n"), {"objective[1].take"});
}

}  // namespace
}  // namespace linac::study
