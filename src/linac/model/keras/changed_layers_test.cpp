#include "linac/model/keras/changed_layers.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"
#include "linac/model/graph/parameters.h"

namespace linac::keras {
namespace {

using Names = std::vector<std::string>;

// Two layers called once, one called twice, one in a wrapper, one of statistics.
KerasModel model() {
  graph::Builder b("model");
  const int x = b.input("x", {5, 4});
  int y = b.add("Normalization", "norm", {x}, {{"axis", -1}});
  const nlohmann::json forward{{"op", "GRU"}, {"name", "forward"}, {"attributes", {{"units", 3}}}};
  nlohmann::json backward = forward;
  backward["attributes"]["go_backwards"] = true;
  y = b.add("Bidirectional", "both", {y}, {{"layer", forward}, {"backward_layer", backward}, {"merge_mode", "concat"}});
  y = b.add("Dense", "first", {y}, {{"units", 6}, {"kernel_initializer", "from_elsewhere"}});
  y = b.add("Dense", "middle", {y}, {{"units", 6}});
  y = b.add("Dense", "twice", {y}, {{"units", 6}});
  y = b.add("Dense", "twice_again", {y}, {{"units", 6}});
  const int out = b.add("Dense", "last", {y}, {{"units", 2}});
  graph::Graph graph = b.finish({out});
  graph.nodes[static_cast<size_t>(graph.find("twice_again"))].shares = graph.find("twice");
  graph::infer_shapes(graph);
  KerasModel made;
  made.graph = graph;
  float next = 0;
  for (const graph::Node& node : graph.nodes)
    for (const graph::Weight& weight : node.weights)
      made.weights.values.emplace_back(static_cast<size_t>(graph::elements(weight.shape)), next += 1);
  return made;
}

const graph::Node& node_of(const KerasModel& of, const std::string& name) {
  return of.graph.nodes[static_cast<size_t>(of.graph.find(name))];
}

std::vector<std::vector<float>> weights_of(const KerasModel& of, const std::string& name) {
  auto begin = of.weights.values.begin();
  for (const graph::Node& node : of.graph.nodes) {
    const auto end = begin + static_cast<std::ptrdiff_t>(node.weights.size());
    if (node.name == name) return {begin, end};
    begin = end;
  }
  return {};
}

std::string refusal(const LayerSettings& settings) {
  return message_of([&] { with_layer_settings(model(), settings, 1); });
}

TEST(ChangedLayers, DrawAnewWhatHasAnotherShapeAndKeepTheRest) {
  const KerasModel before = model();
  const LayerSettings settings{{"first", {{"units", "9"}, {"kernel_initializer", "he_normal"}}}};
  const ChangedModel changed = with_layer_settings(model(), settings, 1);
  EXPECT_EQ(changed.drawn, (Names{"first", "middle"}));
  EXPECT_EQ(node_of(changed.model, "middle").weights[0].shape, (graph::Shape{9, 6}));
  for (const char* kept : {"norm", "both", "twice", "last"})
    EXPECT_EQ(weights_of(changed.model, kept), weights_of(before, kept)) << kept;
  EXPECT_EQ(changed.model.weights.values, with_layer_settings(model(), settings, 1).model.weights.values);
  EXPECT_NE(changed.model.weights.values, with_layer_settings(model(), settings, 2).model.weights.values);
}

TEST(ChangedLayers, KeepWeightsWhoseShapesStay) {
  const KerasModel before = model();
  const ChangedModel changed = with_layer_settings(
      model(),
      {{"first", {{"activation", "relu"}, {"kernel_regularizer", R"({"class_name": "L2", "config": {"l2": 0.5}})"}}}},
      1);
  EXPECT_TRUE(changed.drawn.empty());
  EXPECT_EQ(changed.model.weights.values, before.weights.values);
  EXPECT_EQ(node_of(changed.model, "first").attributes.at("activation"), "relu");
  EXPECT_EQ(node_of(changed.model, "first").weights[0].l2, 0.5);
}

TEST(ChangedLayers, ReachIntoWrappersAndEveryCall) {
  const KerasModel before = model();
  const ChangedModel changed = with_layer_settings(
      model(),
      {{"both", {{"units", "7"}}}, {"twice", {{"activation", "tanh"}}}, {"first", {{"kernel_initializer", "zeros"}}}},
      1);
  EXPECT_EQ(changed.drawn, (Names{"both", "first"}));
  EXPECT_EQ(node_of(changed.model, "both").output, (graph::Shape{14}));
  EXPECT_EQ(node_of(changed.model, "twice_again").attributes.at("activation"), "tanh");
  EXPECT_EQ(weights_of(changed.model, "twice"), weights_of(before, "twice"));
  const ChangedModel by_second_call = with_layer_settings(model(), {{"twice_again", {{"activation", "relu"}}}}, 1);
  EXPECT_EQ(node_of(by_second_call.model, "twice").attributes.at("activation"), "relu");
}

TEST(ChangedLayers, SayWhatDoesNotFit) {
  EXPECT_NE(refusal({{"furst", {{"units", "9"}}}}).find("first"), std::string::npos);
  EXPECT_NE(refusal({{"first", {{"unit", "9"}}}}).find("has no setting unit (there are units,"), std::string::npos);
  EXPECT_NE(refusal({{"both", {{"unit", "9"}}}}).find("units"), std::string::npos);
  EXPECT_NE(refusal({{"first", {{"units", "9.5"}}}}).find("units"), std::string::npos);
  EXPECT_NE(refusal({{"first", {{"units", "many"}}}}).find("units"), std::string::npos);
  EXPECT_NE(refusal({{"first", {{"activation", "[3]"}}}}).find("activation"), std::string::npos);
  EXPECT_NE(refusal({{"both", {{"layer", "9"}}}}).find("has no setting layer"), std::string::npos);
  EXPECT_NE(refusal({{"x", {{"shape", "[5, 5]"}}}}).find("data.inputs"), std::string::npos);
  EXPECT_NE(refusal({{"norm", {{"axis", "1"}}}}).find("statistics"), std::string::npos);
  EXPECT_NE(refusal({{"first", {{"units", "9"}}}}).find("initializer 'from_elsewhere'"), std::string::npos);
  EXPECT_NE(refusal({{"twice", {{"units", "9"}}}}).find("cannot share"), std::string::npos);
}

}  // namespace
}  // namespace linac::keras
