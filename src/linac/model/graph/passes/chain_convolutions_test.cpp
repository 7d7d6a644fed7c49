#include "linac/model/graph/passes/chain_convolutions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "linac/model/graph/passes/fold_upsample.h"

namespace linac::graph {
namespace {

using nlohmann::json;

json conv(int64_t filters, const char* activation = "linear") {
  return {{"filters", filters}, {"kernel_size", {2, 2, 2}}, {"padding", "valid"}, {"activation", activation}};
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

std::vector<std::string> members(const Node& chain) {
  std::vector<std::string> names;
  for (const auto& layer : chain.attributes.at("layers")) names.push_back(layer.at("name"));
  return names;
}

/// All weights' shapes in the order in which the flat buffers hold them.
std::vector<Shape> weight_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const Node& node : graph.nodes) {
    for (const Weight& weight : node.weights) shapes.push_back(weight.shape);
  }
  return shapes;
}

TEST(ChainConvolutions, TakesWholeStagesAndTheLastPool) {
  Builder b("network");
  int x = b.input("image", {8, 8, 8, 2});
  x = b.add("ZeroPadding3D", "pad_1", {x}, {{"padding", {1, 1, 1}}});
  x = b.add("Conv3D", "conv_1", {x}, conv(4));
  x = b.add("LeakyReLU", "leaky_1", {x});
  x = b.add("BatchNormalization", "bn_1", {x});
  x = b.add("Dropout", "drop_1", {x}, {{"rate", 0.2}});
  x = b.add("Conv3D", "conv_2", {x}, conv(3, "relu"));
  x = b.add("AveragePooling3D", "pool", {x}, {{"pool_size", {2, 2, 2}}});
  x = b.add("Flatten", "flatten", {x});
  const Graph graph = b.finish({b.add("Dense", "dense", {x}, {{"units", 1}})});
  const Graph chained = chain_convolutions(graph);
  EXPECT_EQ(ops(chained), (std::vector<std::string>{"InputLayer", "ConvolutionChain", "Flatten", "Dense"}));
  EXPECT_EQ(members(chained.nodes[1]),
            (std::vector<std::string>{"pad_1", "conv_1", "leaky_1", "bn_1", "drop_1", "conv_2", "pool"}));
  EXPECT_EQ(chained.nodes[1].attributes["layers"][4]["index"], 5) << "its index in the graph names dropout's numbers";
  EXPECT_EQ(chained.nodes[1].output, graph.nodes[7].output);
  EXPECT_EQ(weight_shapes(chained), weight_shapes(graph)) << "parameters of the one are those of the other";
  EXPECT_DOUBLE_EQ(forward_flop(chained), forward_flop(graph));
}

TEST(ChainConvolutions, TakesMaxPoolingBehindTheActivation) {
  Builder b("network");
  int x = b.input("image", {9, 8, 8, 2});
  x = b.add("Conv3D", "conv_1", {x}, conv(4, "relu"));
  x = b.add("MaxPooling3D", "max_1", {x}, {{"pool_size", {2, 2, 2}}});
  x = b.add("BatchNormalization", "bn_1", {x});
  x = b.add("Conv3D", "conv_2", {x}, conv(3));
  x = b.add("BatchNormalization", "bn_2", {x});
  x = b.add("MaxPooling3D", "max_2", {x}, {{"pool_size", {2, 2, 2}}});  // of normalised cells
  x = b.add("Conv3D", "conv_3", {x}, {{"filters", 3}, {"kernel_size", {1, 1, 1}}});
  x = b.add("MaxPooling3D", "max_3", {x}, {{"pool_size", {1, 1, 1}}, {"strides", {1, 1, 2}}, {"padding", "same"}});
  const Graph chained = chain_convolutions(b.finish({x}));
  EXPECT_EQ(ops(chained), (std::vector<std::string>{"InputLayer", "ConvolutionChain", "MaxPooling3D",
                                                    "ConvolutionChain", "MaxPooling3D"}));
  EXPECT_EQ(members(chained.nodes[1]), (std::vector<std::string>{"conv_1", "max_1", "bn_1", "conv_2", "bn_2"}));
}

TEST(ChainConvolutions, TakesAFoldedUpSampling) {
  Builder b("network");
  int x = b.input("image", {3, 3, 3, 2});
  x = b.add("UpSampling3D", "up", {x}, {{"size", {2, 2, 2}}});
  x = b.add("Conv3D", "conv_1", {x}, conv(4));
  const Graph folded = fold_upsample(b.finish({x}));
  const Graph chained = chain_convolutions(folded);
  EXPECT_EQ(ops(chained), (std::vector<std::string>{"InputLayer", "ConvolutionChain"}));
  EXPECT_EQ(chained.outputs, std::vector<int>{1});
}

TEST(ChainConvolutions, LeavesWhatOthersReadOrTheKernelsDoNotKnow) {
  Builder b("network");
  const int image = b.input("image", {8, 8, 8, 2});
  const int first = b.add("Conv3D", "conv_1", {image}, conv(4));  // read twice: its value must exist
  const int second = b.add("Conv3D", "conv_2", {first}, conv(4));
  const int third = b.add("Conv3D", "conv_3", {first}, conv(4));
  const int sigmoid = b.add("Conv3D", "conv_4", {third}, conv(4, "sigmoid"));
  const int wide = b.add("Conv3D", "conv_5", {sigmoid}, conv(kChainChannelsMax + 1));
  const Graph graph = b.finish({second, wide});
  const Graph chained = chain_convolutions(graph);
  EXPECT_EQ(ops(chained), (std::vector<std::string>{"InputLayer", "ConvolutionChain", "ConvolutionChain",
                                                    "ConvolutionChain", "Conv3D", "Conv3D"}));
  EXPECT_EQ(members(chained.nodes[1]), std::vector<std::string>{"conv_1"});
  EXPECT_EQ(weight_shapes(chained), weight_shapes(graph));
}

TEST(ChainConvolutions, APaddingWithoutItsConvolutionStays) {
  Builder b("network");
  int x = b.input("image", {4, 4, 4, 2});
  x = b.add("Conv3D", "conv_1", {x}, conv(4));
  x = b.add("ZeroPadding3D", "pad", {x}, {{"padding", {1, 1, 1}}});
  const Graph chained = chain_convolutions(b.finish({x}));
  EXPECT_EQ(ops(chained), (std::vector<std::string>{"InputLayer", "ConvolutionChain", "ZeroPadding3D"}));
}

}  // namespace
}  // namespace linac::graph
