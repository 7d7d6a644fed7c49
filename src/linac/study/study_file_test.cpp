#include "linac/study/study_file.h"

#include <gtest/gtest.h>

#include "linac/base/test_errors.h"

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
  EXPECT_EQ(parsed(text).identity(), parsed(text + "budget: {trials: 99}\nparallel: 3\n").identity());
  EXPECT_NE(parsed(text).identity(), parsed(text + "seed: 2\n").identity());
  EXPECT_NE(parsed(text).identity(), parsed(text + "sampler: {name: random}\n").identity());
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
    return parsed("search: {x: {low: 0, high: 1}}\nobjective: " + objective + "\n").direction();
  };
  EXPECT_EQ(direction("{metric: auc}"), tune::Direction::kMaximize);
  EXPECT_EQ(direction("{metric: loss}"), tune::Direction::kMinimize);
  EXPECT_EQ(direction("{metric: mine, direction: maximize}"), tune::Direction::kMaximize);
  EXPECT_EQ(direction("{}"), tune::Direction::kMinimize);
  expect_in(message_of([&] { direction("{metric: mine}"); }), {"objective.direction"});
}

}  // namespace
}  // namespace linac::study
