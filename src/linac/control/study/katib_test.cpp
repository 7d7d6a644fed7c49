#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/test_errors.h"
#include "linac/control/study/katib/experiment.h"

namespace linac::study {
namespace {

std::string experiment(const std::string& rest,
                       const std::string& objective = "type: minimize, objectiveMetricName: loss") {
  return "apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {name: e}\nspec:\n  objective: {" + objective +
         "}\n" + rest;
}
const std::string kParameters =
    "  parameters:\n"
    "    - {name: lr, parameterType: double, feasibleSpace: {min: \"1e-4\", max: \"0.1\", distribution: logUniform}}\n"
    "    - {name: n, parameterType: int, feasibleSpace: {min: \"2\", max: \"8\", step: \"2\"}}\n"
    "    - {name: how, parameterType: categorical, feasibleSpace: {list: [adam, sgd]}}\n"
    "    - {name: one, parameterType: int, feasibleSpace: {min: \"1\", max: \"1\"}}\n";

StudySettings settings_of(const std::string& rest) {
  return from_katib(experiment(rest), "e.yaml").study.settings;
}

TEST(Katib, AnExperimentBecomesAStudy) {
  const StudySettings settings = settings_of(
      "  algorithm: {algorithmName: multivariate-tpe, algorithmSettings: [{name: random_state, value: \"7\"}]}\n"
      "  earlyStopping: {algorithmName: medianstop, algorithmSettings: [{name: min_trials_required, value: \"3\"}, "
      "{name: start_step, value: \"2\"}]}\n  maxTrialCount: 12\n  parallelTrialCount: 3\n" +
      kParameters);
  ASSERT_EQ(settings.search.size(), 3U);
  EXPECT_EQ(settings.search[0].kind, "log");
  EXPECT_EQ(settings.search[1].step, 2);
  EXPECT_EQ(settings.search[2].choices, (std::vector<std::string>{"adam", "sgd"}));
  EXPECT_EQ(settings.sampler.name, "tpe");
  EXPECT_EQ(settings.seed, 7);
  EXPECT_EQ(settings.pruner.name, "median");
  EXPECT_EQ(settings.pruner.startup, 3);
  EXPECT_EQ(settings.pruner.steps_min, 2);
  EXPECT_EQ(settings.budget.trials, 12);
  EXPECT_EQ(settings.parallel, 3);
  EXPECT_EQ(settings.objective[0].metric, "loss");
}

TEST(Katib, WhatIsWrongIsNamedByItsField) {
  const auto said = [](const std::string& rest) { return message_of([&] { settings_of(rest); }); };
  const std::string random = "  algorithm: {algorithmName: random}\n";
  expect_in(said(random), {"spec.parameters", "no list"});
  expect_in(said(kParameters), {"spec.algorithm.algorithmName", "not there"});
  expect_in(said("  algorithm: {algorithmName: pbt}\n" + kParameters), {"spec.algorithm.algorithmName", "'pbt'"});
  expect_in(said(random + "  maxTrialCount: many\n" + kParameters), {"spec.maxTrialCount", "'many' is no number"});
  expect_in(said(random + "  maxTrialCount: 0\n" + kParameters), {"budget.trials"});
  expect_in(said(random + "  earlyStopping: {algorithmName: other}\n" + kParameters),
            {"spec.earlyStopping.algorithmName"});
  const auto parameter = [&](const std::string& text) {
    return said(random + "  parameters: [{name: x, " + text + "}]\n");
  };
  expect_in(parameter("parameterType: double, feasibleSpace: {min: \"a\", max: \"1\"}"),
            {"spec.parameters[0].feasibleSpace.min", "'a' is no number"});
  expect_in(parameter("parameterType: double"), {"spec.parameters[0].feasibleSpace.min", "not there"});
  expect_in(parameter("parameterType: double, feasibleSpace: {min: \"2\", max: \"1\"}"), {"x", "range"});
  expect_in(parameter("parameterType: text"), {"spec.parameters[0].parameterType"});
  const std::string twice = "{name: x, parameterType: double, feasibleSpace: {min: \"0\", max: \"1\"}}";
  expect_in(said(random + "  parameters: [" + twice + ", " + twice + "]\n"),
            {"spec.parameters[1].name", "'x' stands there before"});
  expect_in(parameter("parameterType: double, feasibleSpace: {min: \"1\", max: \"2\", distribution: normal}"),
            {"spec.parameters[0].feasibleSpace.distribution", "'normal'"});
  expect_in(message_of([] { from_katib("kind: Experiment\n", "e.yaml"); }), {"spec", "not there"});
  expect_in(message_of([] { from_katib("kind: Experiment\nspec: [1]\n", "e.yaml"); }), {"spec.objective"});
}

// Katib's own examples, where KATIB_EXAMPLES names their folder: each is a study, or its error names a field.
TEST(Katib, ItsOwnExamples) {
  const char* const folder = std::getenv("KATIB_EXAMPLES");
  if (folder == nullptr) GTEST_SKIP() << "KATIB_EXAMPLES is not set";
  int studies = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string text = read_file(file.path());
    ASSERT_TRUE(is_katib_experiment(text)) << file.path();
    try {
      studies += from_katib(text, file.path().filename()).study.space().size() > 0 ? 1 : 0;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(": spec."), std::string::npos) << error.what();
      std::printf("%s\n", error.what());
    }
  }
  EXPECT_GT(studies, 20);
}

}  // namespace
}  // namespace linac::study
