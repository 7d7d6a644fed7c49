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
  EXPECT_FALSE(rules[0].indices);
  EXPECT_FALSE(rules[1].hidden);
  ASSERT_TRUE(rules[1].indices);
  EXPECT_EQ(rules[1].indices->layer, "small");
  EXPECT_EQ(rules[1].indices->count, 7);
  EXPECT_FALSE(rules[2].indices) << "a layer between makes other values";
}

}  // namespace
}  // namespace linac::graph
