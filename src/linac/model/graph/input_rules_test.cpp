#include "linac/model/graph/input_rules.h"

#include <gtest/gtest.h>

namespace linac::graph {
namespace {

TEST(InputRules, ComeFromTheLayersThatReadAnInput) {
  Builder b("rules");
  const int steps = b.input("steps", {5, 2}), kind = b.input("kind", {4}), plain = b.input("plain", {3});
  const int masked = b.add("Masking", "masked", {steps}, {{"mask_value", -999.0}});
  const int row = b.add("Reshape", "row", {kind}, {{"target_shape", {2, 2}}});
  const int large = b.add("Embedding", "large", {kind}, {{"input_dim", 9}, {"output_dim", 2}});
  const int small = b.add("Embedding", "small", {row}, {{"input_dim", 7}, {"output_dim", 2}});
  const int changed = b.add("Activation", "changed", {plain}, {{"activation", "relu"}});
  const int behind = b.add("Embedding", "behind", {changed}, {{"input_dim", 3}, {"output_dim", 2}});
  const std::vector<InputRule> rules = input_rules(b.finish({masked, large, small, behind}));
  ASSERT_TRUE(rules[0].hidden);
  EXPECT_EQ(rules[0].hidden->value, -999);
  EXPECT_TRUE(rules[0].indices.empty());
  EXPECT_FALSE(rules[1].hidden);
  ASSERT_EQ(rules[1].indices.size(), 2U);
  EXPECT_EQ(rules[1].indices[1].layer, "small");
  EXPECT_EQ(rules[1].indices[1].largest, 6);
  EXPECT_TRUE(rules[2].indices.empty()) << "a layer between makes other values";
}

TEST(InputRules, GoThroughCastsToIntegers) {
  Builder b("cast");
  const int kind = b.input("kind", {4});
  const int cut = b.add("ops.Cast", "cut", {kind}, {{"dtype", "int32"}});
  const int row = b.add("Reshape", "row", {cut}, {{"target_shape", {2, 2}}});
  const int table = b.add("Embedding", "table", {row}, {{"input_dim", 7}, {"output_dim", 2}});
  const int masked = b.add("Masking", "masked", {row}, {{"mask_value", -9.0}});
  const int same = b.add("ops.Cast", "same", {kind}, {{"dtype", "bool"}});
  const int truth = b.add("Embedding", "truth", {same}, {{"input_dim", 1}, {"output_dim", 2}});
  const std::vector<InputRule> rules = input_rules(b.finish({table, masked, truth}));
  ASSERT_EQ(rules[0].indices.size(), 1U) << "a truth value is no value of the file";
  EXPECT_EQ(rules[0].indices[0].layer, "table");
  EXPECT_TRUE(rules[0].indices[0].cut);
  EXPECT_FALSE(rules[0].hidden) << "what is hidden has other values before the cast";
}

TEST(InputRules, OfSeveralInputsThatAreJoined) {
  Builder b("joined");
  const int pt = b.input("pt", {5, 1}), eta = b.input("eta", {5, 1}), kind = b.input("kind", {5, 1});
  const int rows = b.add("Concatenate", "rows", {pt, eta}, {{"axis", -1}});
  const int masked = b.add("Masking", "masked", {rows}, {{"mask_value", -9.0}});
  const int taken = b.add("ops.TakeAlongAxis", "taken", {rows, kind}, {{"axis", 1}});
  const int hot = b.add("ops.OneHot", "hot", {kind}, {{"num_classes", 3}});
  const std::vector<InputRule> rules = input_rules(b.finish({masked, taken, hot}));
  for (const size_t i : {0, 1}) {
    ASSERT_TRUE(rules[i].hidden);
    EXPECT_EQ(rules[i].hidden->value, -9);
    EXPECT_TRUE(rules[i].indices.empty()) << "what is taken from is no index";
  }
  EXPECT_FALSE(rules[2].hidden);
  ASSERT_EQ(rules[2].indices.size(), 2U);
  EXPECT_EQ(rules[2].indices[0].taker, "take_along_axis of 5");
  EXPECT_EQ(rules[2].indices[0].least, -5);
  EXPECT_EQ(rules[2].indices[0].largest, 4);
  EXPECT_EQ(rules[2].indices[1].taker, "one_hot of 3 classes");
  EXPECT_EQ(rules[2].indices[1].least, -1);
  EXPECT_EQ(rules[2].indices[1].largest, 2);
}

}  // namespace
}  // namespace linac::graph
