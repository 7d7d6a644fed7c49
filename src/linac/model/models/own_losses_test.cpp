#include "linac/model/models/own_losses.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/base/test_errors.h"

namespace linac::models {
namespace {

// Inputs x and truth; energy reads x, the others both.
graph::Graph network(const std::vector<std::string>& outputs) {
  graph::Graph graph;
  graph.name = "net";
  const auto input = [&](const char* name) {
    graph::Node node;
    node.name = name;
    node.op = "Input";
    node.output = {1};
    graph.inputs.push_back(static_cast<int>(graph.nodes.size()));
    graph.nodes.push_back(node);
    return graph.inputs.back();
  };
  const int x = input("x"), truth = input("truth");
  for (const std::string& name : outputs) {
    graph::Node node;
    node.name = name;
    node.op = "Add";
    node.output = {1};
    node.inputs = name == "energy" ? std::vector<int>{x} : std::vector<int>{x, truth};
    graph.outputs.push_back(static_cast<int>(graph.nodes.size()));
    graph.nodes.push_back(node);
  }
  return graph;
}

using Words = std::vector<std::string>;

TEST(OwnLosses, OneWordGoesByTheOutputsNames) {
  const graph::Graph graph = network({"energy", "metric_bias", "loss"});
  EXPECT_TRUE(computes_own_loss(graph));
  EXPECT_EQ(losses_of_outputs(graph, {"output"}), (Words{"none", "metric", "output"}));
  EXPECT_EQ(losses_of_outputs(graph, {"mse", "metric", "output"}), (Words{"mean_squared_error", "metric", "output"}));
  EXPECT_EQ(losses_of_outputs(network({"a", "b"}), {"mae"}), (Words{"mean_absolute_error", "mean_absolute_error"}));
  EXPECT_EQ(losses_of_outputs(network({"energy"}), {"output"}), (Words{"output"})) << "the only output is the loss";
  const std::string said = message_of(ErrorCode::kUser, [] { losses_of_outputs(network({"a", "b"}), {"output"}); });
  EXPECT_NE(said.find("(a, b)"), std::string::npos) << said;
  message_of(ErrorCode::kUser, [&] { losses_of_outputs(graph, {"none", "metric", "none"}); });
  message_of(ErrorCode::kUser, [&] { losses_of_outputs(graph, {"mse", "output"}); });
  message_of(ErrorCode::kUser, [&] { losses_of_outputs(graph, {"mse", "output", "likelihood"}); });
}

TEST(OwnLosses, StandBesideCompiledOnesByTheirNames) {
  const graph::Graph graph = network({"energy", "metric_bias", "loss", "other"});
  EXPECT_EQ(with_own_losses(graph, {"mse", "none", "none", "none"}), (Words{"mse", "metric", "output", "none"}));
  EXPECT_EQ(with_own_losses(graph, {"mse", "mae", "mae", "none"}), (Words{"mse", "mae", "mae", "none"}));
  EXPECT_EQ(with_own_losses(graph, {}), Words{}) << "was not compiled";
  EXPECT_EQ(with_own_losses(network({"loss"}), {"mse"}), Words{"mse"});
}

TEST(OwnLosses, WhoUsesTheModelNeedsNoTruth) {
  const Words losses{"none", "metric", "output"};
  EXPECT_EQ(used_outputs(losses), (std::vector<size_t>{0}));
  const graph::Graph used = with_outputs(network({"energy", "metric_bias", "loss"}), used_outputs(losses));
  ASSERT_EQ(used.inputs.size(), 1U);
  EXPECT_EQ(used.nodes[static_cast<size_t>(used.inputs[0])].name, "x");
  ASSERT_EQ(used.outputs.size(), 1U);
  EXPECT_EQ(used.nodes[static_cast<size_t>(used.outputs[0])].name, "energy");
  EXPECT_EQ(used_outputs({"output", "metric"}), (std::vector<size_t>{0, 1})) << "there is nothing else to use";
}

TEST(OwnLosses, AreReportedByTheirNames) {
  EXPECT_EQ(measure_of_loss("energy", "mean_squared_error"), "energy_loss");
  EXPECT_EQ(measure_of_loss("metric_bias", "metric"), "bias");
  EXPECT_EQ(measure_of_loss("width", "metric"), "width");
}

}  // namespace
}  // namespace linac::models
