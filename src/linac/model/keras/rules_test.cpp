#include "linac/model/keras/rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/test_errors.h"
#include "linac/model/graph/constraints.h"
#include "linac/model/graph/parameters.h"

namespace linac::keras {
namespace {

using nlohmann::json;

/// x (3) -> Dense(2) with these attributes.
graph::Graph dense(const json& attributes) {
  graph::Builder b("m");
  json all{{"units", 2}};
  all.update(attributes);
  return b.finish({b.add("Dense", "dense", {b.input("x", {3})}, all)});
}

/// The kernel (3, 2) after `rule` was enforced on it.
std::vector<float> enforced(const json& rule, const std::vector<float>& kernel) {
  const graph::Graph graph = dense({{"kernel_constraint", rule}});
  graph::Parameters parameters = graph::Parameters::of(graph);
  std::copy(kernel.begin(), kernel.end(), parameters.values("dense/kernel").begin());
  std::fill_n(parameters.values("dense/bias").begin(), 2, -9.0F);
  enforce(constrained_slots(graph, parameters.trainable_layout), parameters.trainable);
  EXPECT_EQ(parameters.values("dense/bias")[0], -9) << "another weight";
  const auto values = parameters.values("dense/kernel");
  return {values.begin(), values.end()};
}

json read(const json& value) {
  return read_keras_rule("dense", "Dense", "kernel_constraint", value);
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

// Columns of norm 5 and 0.5.
const std::vector<float> kKernel{3, 0.3F, 4, -0.4F, 0, 0};

TEST(Constraints, NormsAreTakenOverTheirAxes) {
  expect_near(enforced(read({{"class_name", "MaxNorm"}, {"config", {{"max_value", 2}, {"axis", 0}}}}), kKernel),
              {1.2F, 0.3F, 1.6F, -0.4F, 0, 0});
  expect_near(enforced(read("UnitNorm"), kKernel), {0.6F, 0.6F, 0.8F, -0.8F, 0, 0});
  const json rows{{"class_name", "UnitNorm"}, {"config", {{"axis", {-1}}}}};
  const float first = std::hypot(3.0F, 0.3F), second = std::hypot(4.0F, 0.4F);
  expect_near(enforced(read(rows), kKernel), {3 / first, 0.3F / first, 4 / second, -0.4F / second, 0, 0});
  const json all{{"class_name", "MaxNorm"}, {"config", {{"max_value", 1}, {"axis", {0, 1}}}}};
  const float norm = std::sqrt(25.25F);
  expect_near(enforced(read(all), kKernel), {3 / norm, 0.3F / norm, 4 / norm, -0.4F / norm, 0, 0});
  const json half{{"class_name", "MinMaxNorm"}, {"config", {{"min_value", 1}, {"max_value", 2}, {"rate", 0.5}}}};
  expect_near(enforced(read(half), kKernel), {2.1F, 0.45F, 2.8F, -0.6F, 0, 0});
}

TEST(Constraints, NonNegative) {
  expect_near(enforced(read("non_neg"), kKernel), {3, 0.3F, 4, 0, 0, 0});
}

TEST(Constraints, FrozenWeightsStay) {
  const graph::Graph graph = dense({{"kernel_constraint", read("non_neg")}, {"trainable", false}});
  EXPECT_TRUE(constrained_slots(graph, graph::Parameters::of(graph).trainable_layout).empty());
}

TEST(Constraints, AreRefusedWhereTheyMeanNothing) {
  const auto refused = [](const json& attributes) { return message_of([&] { dense(attributes); }); };
  EXPECT_NE(refused({{"recurrent_constraint", read("non_neg")}}).find("recurrent_constraint"), std::string::npos);
  const json axis{{"class_name", "MaxNorm"}, {"config", {{"axis", 2}}}};
  EXPECT_NE(refused({{"kernel_constraint", read(axis)}}).find("axis 2 of weight 'kernel'"), std::string::npos);
  const json bounds{{"class_name", "MinMaxNorm"}, {"config", {{"min_value", 2}, {"max_value", 1}}}};
  EXPECT_NE(refused({{"kernel_constraint", read(bounds)}}).find("between 2 and 1"), std::string::npos);
  EXPECT_NE(message_of([] { read({{"class_name", "RadialConstraint"}}); }).find("only NonNeg"), std::string::npos);
  const json text{{"class_name", "MaxNorm"}, {"config", {{"max_value", "two"}}}};
  EXPECT_NE(message_of([&] { read(text); }).find("max_value = \"two\": it must be a number"), std::string::npos);
  EXPECT_NE(message_of([] { read(3); }).find("kernel_constraint = 3"), std::string::npos);
}

TEST(Rules, GoHomeAsWhatTheyAre) {
  for (const json& value : {json("max_norm"), json("unit_norm"), json("non_neg"), json("min_max_norm")})
    EXPECT_EQ(read(write_keras_rule("kernel_constraint", read(value))), read(value)) << value;
  const json both{{"class_name", "L1L2"}, {"config", {{"l1", 0.5}, {"l2", 0.25}}}};
  const json penalty = read_keras_rule("dense", "Dense", "bias_regularizer", both);
  EXPECT_EQ(read_keras_rule("dense", "Dense", "bias_regularizer", write_keras_rule("bias_regularizer", penalty)),
            (json{{"l1", 0.5}, {"l2", 0.25}}));
}

}  // namespace
}  // namespace linac::keras
