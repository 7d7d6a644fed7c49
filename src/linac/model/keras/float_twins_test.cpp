#include "linac/model/keras/float_twins.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"
#include "linac/model/keras/layers.h"

namespace linac::keras {
namespace {

using nlohmann::json;

graph::Node activation(const json& quantizer) {
  return read_keras_layer("QActivation", {{"name", "a"}, {"activation", quantizer}});
}

json quantizer(const char* name, const json& config) {
  return {{"class_name", name}, {"config", config}};
}

TEST(FloatTwins, CutWhereAQuantizerEnds) {
  graph::Node node = activation("quantized_relu(6)");
  EXPECT_EQ(node.op, "ReLU");
  EXPECT_EQ(node.attributes.at("max_value"), 1 - 1.0 / 64);
  EXPECT_TRUE(is_float_twin(node));
  node = activation(quantizer("quantized_relu", {{"bits", 4}, {"integer", 2}, {"relu_upper_bound", nullptr}}));
  EXPECT_EQ(node.attributes.at("max_value"), 4 * (1 - 1.0 / 16));
  node = activation(quantizer("quantized_bits", {{"bits", 5}, {"integer", 1}, {"symmetric", 1}, {"alpha", 1}}));
  EXPECT_EQ(node.op, "ops.Clip");
  EXPECT_EQ(node.attributes.at("x_min"), 2 * (-1 + 1.0 / 16));
  EXPECT_EQ(node.attributes.at("x_max"), 2 * (1 - 1.0 / 16));
  node = activation("quantized_bits(8, 0, keep_negative=False)");
  EXPECT_EQ(node.attributes.at("x_min"), 0);
  EXPECT_EQ(node.attributes.at("x_max"), 1 - 1.0 / 256);
  EXPECT_EQ(activation("tanh").attributes.at("activation"), "tanh");
}

TEST(FloatTwins, AreTheirLayersWithoutQuantizers) {
  const json config{{"name", "d"},
                    {"units", 3},
                    {"activation", "linear"},
                    {"kernel_quantizer", quantizer("quantized_bits", {{"bits", 6}, {"alpha", "auto"}})},
                    {"bias_quantizer", nullptr},
                    {"kernel_initializer", quantizer("QInitializer", {{"initializer", "he_normal"}})},
                    {"kernel_constraint", quantizer("Clip", {{"min_value", -1}})}};
  const graph::Node node = read_keras_layer("QDense", config);
  EXPECT_EQ(node.op, "Dense");
  EXPECT_EQ(node.attributes.at("units"), 3);
  EXPECT_EQ(node.attributes.at("kernel_initializer"), "he_normal");
  graph::Graph graph;
  graph.nodes = {node, read_keras_layer("Dense", {{"name", "plain"}, {"units", 3}})};
  EXPECT_EQ(float_twins(graph), std::vector<std::string>{"d (QDense, 6 bits)"});
  EXPECT_EQ(read_keras_layer("QDense", {{"name", "hgq"}, {"units", 2}, {"kq_conf", json::object()}}).op, "Dense");
}

TEST(FloatTwins, AreRefusedWhereRoundingIsThePoint) {
  const auto refused = [](const char* class_name, const json& config) {
    return message_of([&] { read_keras_layer(class_name, config); });
  };
  expect_in(refused("QDense", {{"name", "d"}, {"units", 3}, {"kernel_quantizer", "ternary()"}}), {"'d'", "ternary"});
  expect_in(refused("QDense", {{"name", "d"}, {"units", 3}, {"activation", "quantized_relu(3)"}}), {"QActivation"});
  expect_in(refused("QActivation", {{"name", "a"}, {"activation", "quantized_tanh(4)"}}), {"quantized_tanh"});
  expect_in(refused("QActivation", {{"name", "a"}, {"activation", "quantized_relu(3, 1, 1)"}}), {"setting 3"});
  expect_in(refused("QActivation", {{"name", "a"}, {"activation", "quantized_bits(3, alpha='auto')"}}), {"alpha"});
  expect_in(refused("QActivation", {{"name", "a"}, {"activation", {1, 2}}}), {"'?'"});
  expect_in(refused("QBatchNormalization", {{"name", "n"}}), {"QDense"});
}

}  // namespace
}  // namespace linac::keras
