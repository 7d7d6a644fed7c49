#include "linac/model/graph/passes/fold_norms.h"

#include <gtest/gtest.h>

#include "linac/model/graph/passes/fuse_activations.h"

namespace linac::graph {
namespace {

using nlohmann::json;

/// Image, convolution, normalisation, relu.
Graph block(const char* op, const json& convolution, const json& norm = json::object()) {
  json settings = {{"filters", 4}, {"kernel_size", {3, 3}}};
  settings.update(convolution);
  Builder b("network");
  const int conv = b.add(op, "conv", {b.input("image", {8, 8, 2})}, settings);
  return b.finish({b.add("ReLU", "relu", {b.add("BatchNormalization", "norm", {conv}, norm)})});
}

TEST(FoldNorms, TheConvolutionTakesOverWhatReadsItAlone) {
  for (const char* op : {"Conv2D", "SeparableConv2D"}) {
    const Graph fused = fuse_activations(block(op, {{"use_bias", false}}));
    EXPECT_EQ(fused.nodes[2].attributes["fused_negative_slope"], 0) << "of the relu";
    EXPECT_EQ(fused.nodes[3].op, "Activation");
    EXPECT_EQ(foldable_norms(fused), (std::vector<int>{-1, 2, -1, -1}));
  }
}

TEST(FoldNorms, NotWhereAnotherReadsOrSomethingStandsBetween) {
  const std::vector<int> none{-1, -1, -1, -1};
  EXPECT_EQ(foldable_norms(block("Conv2D", {{"activation", "relu"}})), none);
  EXPECT_EQ(foldable_norms(block("DepthwiseConv2D", {{"depth_multiplier", 2}})), none);
  EXPECT_EQ(foldable_norms(block("Conv2D", json::object(), {{"axis", 1}})), none);
  Builder b("network");
  const int conv = b.add("Conv2D", "conv", {b.input("image", {8, 8, 2})}, {{"filters", 4}, {"kernel_size", {3, 3}}});
  const int norm = b.add("BatchNormalization", "norm", {conv});
  EXPECT_EQ(foldable_norms(b.finish({conv, norm})), (std::vector<int>{-1, -1, -1}));
}

TEST(FuseActivations, NormsSumsAndConvolutionsButNoBoundedOnes) {
  const auto fused = [](const json& relu) {
    Builder b("network");
    const int x = b.input("image", {8, 8, 2});
    const int relued = b.add("ReLU", "relu", {b.add("Add", "sum", {x, x})}, relu);
    return fuse_activations(b.finish({relued})).nodes[1].attributes.value("fused_negative_slope", 1.0);
  };
  EXPECT_EQ(fused(json::object()), 0);
  EXPECT_EQ(fused({{"max_value", nullptr}, {"negative_slope", 0.2}}), 0.2);
  EXPECT_EQ(fused({{"max_value", 6.0}}), 1) << "bounded above";
  EXPECT_EQ(fused({{"threshold", 0.1}}), 1);
}

}  // namespace
}  // namespace linac::graph
