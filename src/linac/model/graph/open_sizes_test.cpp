#include "linac/model/graph/open_sizes.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"

namespace linac::graph {
namespace {

/// Two inputs: steps of 8 features, as many as wanted, and 3 numbers.
Graph sequences(const std::string& op, const nlohmann::json& attributes) {
  Builder b("sequences");
  const int x = b.add("InputLayer", "x", {}, {{"shape", {kProvisionalSize, 8}}, {"open", {0}}});
  const int h = b.input("h", {3});
  const int steps = b.add(op, "steps", {x}, attributes);
  const int last = b.add("LSTM", "last", {steps}, {{"units", 3}});
  Graph graph = b.finish({steps, b.add("Add", "sum", {last, h})});
  graph.inputs = {x, h};
  return graph;
}

std::string refusal(const Graph& graph, const std::vector<Shape>& shapes) {
  try {
    with_input_shapes(graph, shapes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    return error.what();
  }
  return "accepted";
}

TEST(OpenSizes, AreThoseThatAreGiven) {
  const Graph graph = sequences("Conv1D", {{"filters", 4}, {"kernel_size", 3}, {"strides", 2}});
  EXPECT_TRUE(has_open_sizes(graph));
  EXPECT_TRUE(is_open_sequence(graph.nodes[0]));
  EXPECT_FALSE(is_open_sequence(graph.nodes[1]));
  EXPECT_EQ(describe_open_shape(graph.nodes[0]), "(None, 8)");
  const Graph sized = with_input_shapes(graph, {{11, 8}, {3}});
  EXPECT_EQ(sized.nodes[2].output, (Shape{5, 4}));
  EXPECT_TRUE(has_open_sizes(sized)) << "what it takes is remembered";
}

TEST(OpenSizes, OthersAreRefused) {
  const Graph graph = sequences("Conv1D", {{"filters", 4}, {"kernel_size", 3}});
  EXPECT_NE(refusal(graph, {{11, 7}, {3}}).find("'x' (InputLayer): takes (None, 8), not (11, 7)"), std::string::npos);
  EXPECT_NE(refusal(graph, {{11, 8}, {4}}).find("takes (3), not (4)"), std::string::npos);
  EXPECT_NE(refusal(graph, {{11}, {3}}).find("not (11)"), std::string::npos);
  EXPECT_NE(refusal(graph, {{2, 8}, {3}}), "accepted") << "shorter than the kernel";
  EXPECT_NE(refusal(graph, {{0, 8}, {3}}), "accepted");
  const Graph weights = sequences("PReLU", nlohmann::json::object());
  EXPECT_NE(refusal(weights, {{11, 8}, {3}}).find("weights that depend on a size"), std::string::npos);
}

TEST(OpenSizes, WhatFollowsThemIsFound) {
  using Axes = std::vector<bool>;
  for (const char* padding : {"valid", "same"}) {
    for (const int stride : {1, 2, 3, 7}) {
      const Graph graph = with_input_shapes(
          sequences("Conv1D", {{"filters", 4}, {"kernel_size", 3}, {"strides", stride}, {"padding", padding}}),
          {{11, 8}, {3}});
      const auto open = following_axes(graph);
      EXPECT_EQ(open[0], (Axes{true, false}));
      EXPECT_EQ(open[1], (Axes{false}));
      EXPECT_EQ(open[2], (Axes{true, false})) << padding << " " << stride;
      EXPECT_EQ(open[3], (Axes{false}));
    }
  }
}

TEST(OpenSizes, NothingFollowsWhereAnotherInputFixesThem) {
  Builder b("fixed");
  const int x = b.add("InputLayer", "x", {}, {{"shape", {9, 8}}, {"open", {0}}}), y = b.input("y", {9, 8});
  Graph graph = b.finish({b.add("Dot", "product", {x, y}, {{"axes", 1}})});
  graph.inputs = {x, y};
  for (const auto& axes : following_axes(graph))
    for (const bool open : axes) EXPECT_FALSE(open);
}

}  // namespace
}  // namespace linac::graph
