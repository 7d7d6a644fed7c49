#include "linac/model/graph/passes/fuse_pooling.h"

#include <gtest/gtest.h>

namespace linac::graph {
namespace {

using nlohmann::json;

json conv(const char* activation = "linear") {
  return {{"filters", 4}, {"kernel_size", {3, 3}}, {"padding", "same"}, {"activation", activation}};
}

/// The nodes of `x` behind an image, pooled by `pool`.
template <class Layers>
Graph pooled(const Layers& layers, const json& pool = json::object()) {
  Builder b("network");
  const int x = layers(b, b.input("image", {8, 8, 2}));
  return b.finish({b.add("MaxPooling2D", "pool", {x}, pool)});
}

TEST(FusePooling, TakesTheActivationToo) {
  const Graph own = fuse_pooling(pooled([](Builder& b, int x) { return b.add("Conv2D", "conv", {x}, conv("relu")); }));
  EXPECT_EQ(own.nodes[1].attributes[kFusedPool], json({2, 2}));
  EXPECT_EQ(own.nodes[1].output, (Shape{8, 8, 4})) << "padding follows from it";
  EXPECT_EQ(own.nodes[2].op, "Activation");
  EXPECT_EQ(own.nodes[2].output, (Shape{4, 4, 4}));
  const Graph layer = fuse_pooling(pooled([](Builder& b, int x) {
    return b.add("LeakyReLU", "leaky", {b.add("Conv2D", "conv", {x}, conv())}, {{"negative_slope", 0.1}});
  }));
  EXPECT_EQ(layer.nodes[1].attributes["fused_negative_slope"], 0.1);
  EXPECT_EQ(layer.nodes[1].attributes[kFusedPool], json({2, 2}));
  for (const int i : {2, 3}) EXPECT_EQ(layer.nodes[static_cast<size_t>(i)].op, "Activation");
}

TEST(FusePooling, LeavesWhatOthersReadOrIsNoMaximumOfCells) {
  const auto plain = [](Builder& b, int x) { return b.add("Conv2D", "conv", {x}, conv()); };
  const auto untouched = [](const Graph& graph) {
    const Graph fused = fuse_pooling(graph);
    for (const Node& node : fused.nodes) {
      if (node.attributes.contains(kFusedPool)) return false;
    }
    return fused.nodes.back().op != "Activation";
  };
  EXPECT_FALSE(untouched(pooled(plain)));
  EXPECT_TRUE(untouched(pooled(plain, {{"padding", "same"}})));
  EXPECT_TRUE(untouched(pooled(plain, {{"pool_size", {3, 3}}, {"strides", {2, 2}}})));
  EXPECT_TRUE(untouched(pooled([](Builder& b, int x) { return b.add("Conv2D", "conv", {x}, conv("tanh")); })));
  EXPECT_TRUE(untouched(pooled(
      [](Builder& b, int x) { return b.add("BatchNormalization", "norm", {b.add("Conv2D", "conv", {x}, conv())}); })));
  EXPECT_TRUE(untouched(pooled([](Builder&, int x) { return x; })));
  Builder b("network");
  const int x = b.add("Conv2D", "conv", {b.input("image", {8, 8, 2})}, conv());
  const int pool = b.add("MaxPooling2D", "pool", {x});
  EXPECT_TRUE(untouched(b.finish({x, pool})));
}

}  // namespace
}  // namespace linac::graph
