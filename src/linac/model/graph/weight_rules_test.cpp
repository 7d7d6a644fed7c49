#include "linac/model/graph/weight_rules.h"

#include <gtest/gtest.h>

namespace linac::graph {
namespace {

using nlohmann::json;

/// x (3) -> Dense(2) with these attributes.
Graph dense(const json& attributes) {
  Builder b("m");
  json all{{"units", 2}};
  all.update(attributes);
  return b.finish({b.add("Dense", "dense", {b.input("x", {3})}, all)});
}

TEST(ActivityPenalty, OfAnyLayerAndOfTheLayerForIt) {
  const Graph plain = dense(json::object());
  EXPECT_FALSE(activity_penalty(plain.nodes[1]).has_value());
  EXPECT_FALSE(has_penalty(plain));
  const Graph graph = dense({{"activity_regularizer", {{"l1", 0.5}, {"l2", 0.0}}}});
  const auto penalty = activity_penalty(graph.nodes[1]);
  ASSERT_TRUE(penalty.has_value());
  EXPECT_EQ(penalty->l1, 0.5);
  EXPECT_TRUE(has_penalty(graph));
  EXPECT_EQ(graph.nodes[1].weights[0].l1, 0) << "not of the weights";
  Builder b("m");
  const int x = b.input("x", {3});
  const Graph layer = b.finish({b.add("ActivityRegularization", "a", {x}, {{"l1", 0.0}, {"l2", 2.0}})});
  EXPECT_EQ(activity_penalty(layer.nodes[1])->l2, 2);
}

}  // namespace
}  // namespace linac::graph
