#include "linac/base/job/branch.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"

namespace linac::job {
namespace {

constexpr const char* kJob = R"(
model: {kind: keras, file: model.keras}
data: {train: [a.parquet], inputs: [{column: x}], targets: [{column: y}]}
train: {epochs: 5, batch: 30, optimizer: {name: sgd, lr: 0.01, momentum: 0.9}}
)";

Job job(const std::vector<std::string>& overrides = {}) {
  return parse_job(kJob, "job.yaml", overrides);
}

std::string refusal(const std::vector<std::string>& now, const std::vector<std::string>& then = {}) {
  return message_of([&] { need_branch(job(then), job(now), "[branch] runs/a", "train anew"); });
}

TEST(Branch, RatesWeightsAndWhatIsFreeMayChange) {
  for (const char* word : {"train.optimizer.lr=0.5", "train.optimizer.momentum=0.1", "train.sync.mode=local",
                           "train.fit.label_smoothing=0.1", "name=other", "workers=2", "train.epochs=50",
                           "train.max_steps=7", "checkpoint.keep=9", "distribution.stall_timeout_s=20"})
    EXPECT_NO_THROW(need_branch(job(), job({word}), "[branch]", "")) << word;
}

TEST(Branch, AnotherTrainingIsRefusedByItsKey) {
  expect_in(refusal({"train.batch=60"}), {"[branch] runs/a: train.batch is 30 there and 60 here", "; train anew"});
  expect_in(refusal({"data.train=[b.parquet]"}), {"data.train is [a.parquet] there and [b.parquet] here"});
  expect_in(refusal({"train.seed=12345"}), {"train.seed is "});
  expect_in(refusal({"train.replicas=4"}), {"train.replicas is "});
  expect_in(refusal({"train.optimizer.name=adam"}), {"train.optimizer.name is sgd there and adam here"});
}

TEST(Branch, AKeyThatOneOfThemDoesNotHaveIsNamed) {
  expect_in(refusal({"data.test=[v.parquet]"}), {"data.test is ", "[v.parquet] here"});
}

// A momentum of 0 keeps no velocity, so a checkpoint of the one has nothing for the other.
TEST(Branch, WhatTheOptimizerKeepsStays) {
  expect_in(refusal({"train.optimizer.momentum=0"}),
            {"what the optimizer keeps is ", "not set here", "momentum, amsgrad and centered stay on or off"});
  expect_in(refusal({}, {"train.optimizer.momentum=0"}), {"what the optimizer keeps is not set there"});
}

TEST(Branch, KeysThatMayChange) {
  for (const char* key : {"train.optimizer.lr", "train.fit.loss_weights", "train.fit.class_weight", "train.flip",
                          "model.loss_weights.ecal", "model.dropout"})
    EXPECT_TRUE(may_change_in_branch(key)) << key;
  for (const char* key : {"train.optimizer.name", "train.optimizer.initial_accumulator_value", "train.optimizer",
                          "train.optimizers.lr", "train.flipped", "model.dropouts", "model.file", "train.batch", ""})
    EXPECT_FALSE(may_change_in_branch(key)) << key;
}

TEST(Branch, WhatIsFreeSaysNothing) {
  const Job other = job({"name=n", "workers=2", "train.epochs=9", "checkpoint.keep=2"});
  EXPECT_EQ(to_yaml(without_free_settings(job())), to_yaml(without_free_settings(other)));
  EXPECT_NE(to_yaml(without_free_settings(job())), to_yaml(without_free_settings(job({"train.optimizer.lr=0.5"}))));
}

}  // namespace
}  // namespace linac::job
