#include "linac/model/graph/output_units.h"

#include <gtest/gtest.h>

namespace linac::graph {
namespace {

// "second" is read by another layer too, and "trunk" is an output beside the two.
Graph three_outputs() {
  Builder b("three_outputs");
  const int x = b.input("x", {3});
  const int trunk = b.add("Dense", "trunk", {x}, {{"units", 4}});
  const int first = b.add("Dense", "first", {trunk}, {{"units", 2}});
  const int second = b.add("Dense", "second", {trunk}, {{"units", 1}});
  b.add("Activation", "after", {second}, {{"activation", "relu"}});
  return b.finish({first, second, trunk});
}

std::vector<std::string> names(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(graph.nodes[static_cast<size_t>(node)].name);
  return names;
}

const std::vector<OutputUnits> kUnits{{{2, 4}, {1, 0}}, {{8}, {3}}, {}};

TEST(OutputUnits, ARescalingTakesTheNameOfItsOutput) {
  const Graph before = three_outputs(), graph = in_units_of_files(before, kUnits);
  EXPECT_EQ(names(graph, graph.outputs), (std::vector<std::string>{"first", "second", "trunk"}));
  const Node &first = graph.nodes[static_cast<size_t>(graph.outputs[0])],
             &second = graph.nodes[static_cast<size_t>(graph.outputs[1])];
  EXPECT_EQ(first.op, "Rescaling");
  EXPECT_EQ(first.attributes.at("scale"), nlohmann::json({2.0, 4.0}));
  EXPECT_EQ(first.output, Shape{2});
  EXPECT_EQ(second.attributes.at("scale"), nlohmann::json(8.0));
  EXPECT_EQ(second.attributes.at("offset"), nlohmann::json(3.0));
  EXPECT_EQ(names(graph, first.inputs), std::vector<std::string>{"first_scaled"});
  for (size_t i = 0; i < before.nodes.size(); ++i) EXPECT_EQ(graph.nodes[i].op, before.nodes[i].op);
}

TEST(OutputUnits, AreUndoneOnceAndForTheOutputsThatAreNamed) {
  const Graph graph = in_units_of_files(three_outputs(), kUnits);
  EXPECT_EQ(in_units_of_files(graph, kUnits).nodes.size(), graph.nodes.size());
  std::vector<int> nodes{graph.find("trunk"), graph.find("second_scaled")};
  const Graph one = in_units_of_training(graph, {true, false, false}, nodes);
  EXPECT_EQ(one.nodes[static_cast<size_t>(one.outputs[0])].op, "Dense");
  EXPECT_EQ(one.nodes[static_cast<size_t>(one.outputs[1])].op, "Rescaling");
  EXPECT_EQ(names(one, one.outputs), (std::vector<std::string>{"first", "second", "trunk"}));
  const Graph none = in_units_of_training(one, {true, true, true}, nodes);
  EXPECT_EQ(names(none, nodes), (std::vector<std::string>{"trunk", "second"}));
  EXPECT_EQ(names(none, none.outputs), (std::vector<std::string>{"first", "second", "trunk"}));
  for (const Node& node : none.nodes) EXPECT_NE(node.op, "Rescaling");
}

TEST(OutputUnits, ALayerThatIsCalledTwiceKeepsItsName) {
  Builder b("twice");
  const int x = b.input("x", {2}), y = b.input("y", {2});
  const int first = b.add("Dense", "dense", {x}, {{"units", 1}});
  const int second = b.add("Dense", "dense_1", {y}, {{"units", 1}});
  Graph twice = b.finish({first, second});
  twice.nodes[static_cast<size_t>(second)].shares = first;
  twice.nodes[static_cast<size_t>(second)].weights.clear();
  const std::vector<OutputUnits> units{{{2}, {0}}, {{2}, {0}}};
  const Graph graph = in_units_of_files(twice, units);
  EXPECT_EQ(names(graph, graph.outputs), (std::vector<std::string>{"dense_unscaled", "dense_1_unscaled"}));
  std::vector<int> nodes;
  const Graph back = in_units_of_training(graph, {true, true}, nodes);
  EXPECT_EQ(names(back, back.outputs), (std::vector<std::string>{"dense", "dense_1"}));
}

}  // namespace
}  // namespace linac::graph
