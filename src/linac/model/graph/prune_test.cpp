#include "linac/model/graph/prune.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/model/graph/parameters.h"

namespace linac::graph {
namespace {

// Two heads over one trunk, one of them with an input of its own.
Graph two_heads() {
  Builder b("two_heads");
  const int other = b.input("other", {2});
  const int x = b.input("x", {3});
  const int trunk = b.add("Dense", "trunk", {x}, {{"units", 4}});
  const int joined = b.add("Concatenate", "joined", {trunk, other});
  const int first = b.add("Dense", "first", {joined}, {{"units", 1}});
  const int second = b.add("Dense", "second", {trunk}, {{"units", 1}});
  return b.finish({first, second});
}

TEST(Prune, KeepsWhatTheOutputNeeds) {
  const Graph kept = prune(two_heads(), std::vector<std::string>{"second"});
  ASSERT_EQ(kept.nodes.size(), 3U);
  EXPECT_EQ(kept.nodes[1].name, "trunk");
  EXPECT_EQ(kept.nodes[2].inputs, std::vector<int>{1});
  EXPECT_EQ(kept.inputs, std::vector<int>{0});
  EXPECT_EQ(kept.outputs, std::vector<int>{2});
  EXPECT_EQ(kept.nodes[2].weights[0].shape, (Shape{4, 1}));
}

TEST(Prune, KeepsEverythingForAllOutputsInTheirNewOrder) {
  const Graph graph = two_heads();
  const Graph kept = prune(graph, std::vector<int>{graph.outputs[1], graph.outputs[0]});
  EXPECT_EQ(kept.nodes.size(), graph.nodes.size());
  EXPECT_EQ(kept.outputs, (std::vector<int>{5, 4}));
}

TEST(Prune, WeightsOfTheKeptNodesAreFoundByName) {
  const Graph graph = two_heads();
  Parameters parameters = Parameters::of(graph);
  parameters.values("trunk/bias")[0] = 7;
  const WeightValues values = to_weight_values(prune(graph, std::vector<std::string>{"second"}), parameters);
  ASSERT_EQ(values.values.size(), 4U);
  EXPECT_EQ(values.values[1][0], 7);
}

TEST(Prune, NamesWhatIsNotThere) {
  EXPECT_THROW(prune(two_heads(), std::vector<std::string>{"third"}), Error);
}

}  // namespace
}  // namespace linac::graph
