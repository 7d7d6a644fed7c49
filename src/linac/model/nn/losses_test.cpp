#include "linac/model/nn/losses.h"

#include <gtest/gtest.h>

#include "linac/base/job/metrics.h"

namespace linac::nn {
namespace {

TEST(Metrics, EachThatAJobMayNameCanBeComputed) {
  const at::Tensor prediction = at::tensor({0.7F, 0.2F, 0.1F, 0.3F, 0.3F, 0.4F}).reshape({2, 3});
  const at::Tensor target = at::tensor({1.0F, 0.0F, 0.0F, 0.0F, 1.0F, 0.0F}).reshape({2, 3});
  for (const std::string& name : metric_names()) {
    if (job::is_of_all_scores(name)) continue;  // train/train/loops/fit_evaluation.h
    const EventMetric metric = metric_of_events(name, prediction, target, false);
    EXPECT_EQ(metric.values.numel(), 2) << name;
    EXPECT_EQ(metric.counts.defined(), is_ratio(name)) << name;
  }
}

TEST(Metrics, RatiosCountThePositivesOfAnEvent) {
  const at::Tensor prediction = at::tensor({0.7F, 0.6F, 0.5F, 0.1F, 0.2F, 0.3F}).reshape({2, 3});
  const at::Tensor target = at::tensor({1.0F, 0.0F, 1.0F, 0.0F, 1.0F, 0.0F}).reshape({2, 3});
  const auto expect = [&](const char* name, at::Tensor values, at::Tensor counts) {
    const EventMetric metric = metric_of_events(name, prediction, target, false);
    EXPECT_TRUE(at::equal(metric.values, values)) << name;
    EXPECT_TRUE(at::equal(metric.counts, counts)) << name;
  };
  expect("precision", at::tensor({1.0F, 0.0F}), at::tensor({2.0F, 0.0F}));
  expect("recall", at::tensor({1.0F, 0.0F}), at::tensor({2.0F, 1.0F}));
  expect("f1_score", at::tensor({2.0F, 0.0F}), at::tensor({4.0F, 1.0F}));
}

// Keras 3.15: BinaryCrossentropy()(y, p) of a p that carries this mask, and BinaryAccuracy over two such batches.
TEST(Losses, AreMeansOverTheStepsThatCount) {
  const at::Tensor prediction = at::tensor({0.7F, 0.6F, 0.4F, 0.1F, 0.2F, 0.9F}).reshape({2, 3, 1});
  const at::Tensor target = at::tensor({1.0F, 0.0F, 1.0F, 0.0F, 1.0F, 0.0F}).reshape({2, 3, 1});
  const at::Tensor mask = at::tensor({1.0F, 1.0F, 0.0F, 1.0F, 0.0F, 0.0F}).reshape({2, 3}) != 0;
  const at::Tensor events = loss_of_events("binary_crossentropy", prediction, target, {}, weights_of_mask(mask));
  EXPECT_NEAR(events.mean().item<double>(), 0.459442, 1e-6);
  const EventMetric accuracy = metric_of_events("accuracy", prediction, target, false, mask);
  EXPECT_NEAR((accuracy.values.sum() / accuracy.counts.sum()).item<double>(), 2.0 / 3, 1e-6);
  EXPECT_TRUE(at::equal(metric_of_events("recall", prediction, target, false, mask).counts,
                        metric_of_events("recall", prediction, target, false).counts))
      << "Keras counts all steps";
  const at::Tensor nothing = at::zeros({2, 3}, at::kBool);
  EXPECT_EQ(
      loss_of_events("binary_crossentropy", prediction, target, {}, weights_of_mask(nothing)).sum().item<double>(), 0);
}

// Keras 3.15: the same with sample_weight = weights, and precision without a mask.
TEST(Losses, StepsHaveWeights) {
  const at::Tensor prediction = at::tensor({0.7F, 0.6F, 0.4F, 0.1F, 0.2F, 0.9F}).reshape({2, 3, 1});
  const at::Tensor target = at::tensor({1.0F, 0.0F, 1.0F, 0.0F, 1.0F, 0.0F}).reshape({2, 3, 1});
  const at::Tensor mask = at::tensor({1.0F, 1.0F, 0.0F, 1.0F, 0.0F, 0.0F}).reshape({2, 3}) != 0;
  const at::Tensor weights = at::tensor({2.0F, 0.5F, 3.0F, 1.0F, 4.0F, 0.25F}).reshape({2, 3});
  const at::Tensor steps = product_of_steps(weights_of_mask(mask), weights);
  const at::Tensor events = loss_of_events("binary_crossentropy", prediction, target, {}, steps);
  EXPECT_NEAR(events.mean().item<double>(), (2 * 0.356675 + 0.5 * 0.916291 + 0.105361) / 3, 1e-6);
  const EventMetric accuracy = metric_of_events("accuracy", prediction, target, false, mask, weights);
  EXPECT_NEAR((accuracy.values.sum() / accuracy.counts.sum()).item<double>(), 3 / 3.5, 1e-6);
  const EventMetric precision = metric_of_events("precision", prediction, target, false, {}, weights);
  EXPECT_NEAR((precision.values.sum() / precision.counts.sum()).item<double>(), 2 / 2.75, 1e-6);
  EXPECT_FALSE(product_of_steps({}, {}).defined());
}

}  // namespace
}  // namespace linac::nn
