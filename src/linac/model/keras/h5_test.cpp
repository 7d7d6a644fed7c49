#include "linac/model/keras/h5.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/model/graph/calls.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/keras/compile.h"
#include "linac/model/keras/keras2_config.h"
#include "linac/model/keras/test_keras2_file.h"
#include "linac/model/keras/weight_store.h"

namespace linac::keras {
namespace {

using nlohmann::json;

// A layer and its calls, in the words of Keras 2.
json layer(const std::string& class_name, const std::string& name, json config, const json& calls) {
  config["name"] = name;
  return {{"class_name", class_name}, {"config", config}, {"name", name}, {"inbound_nodes", calls}};
}

json input(const std::string& name, const json& shape) {
  return layer("InputLayer", name, {{"batch_input_shape", shape}, {"sparse", false}, {"ragged", false}}, json::array());
}

json call_of(const std::string& name, int number = 0) {
  return json::array({json::array({name, number, 0, json::object()})});
}

json functional(const std::string& name, const json& layers, const json& output) {
  return {{"class_name", "Model"},
          {"config",
           {{"name", name},
            {"layers", layers},
            {"input_layers", json::array({json::array({layers[0]["name"], 0, 0})})},
            {"output_layers", json::array({output})}}}};
}

json sequential(const std::string& name, const json& layers) {
  return {{"class_name", "Sequential"}, {"config", {{"name", name}, {"layers", layers}}}};
}

json bare(const std::string& class_name, const std::string& name, json config) {
  config["name"] = name;
  return {{"class_name", class_name}, {"config", config}};
}

/// x -> hidden -> out, without an InputLayer.
json two_layers() {
  return sequential("two", {bare("Dense", "hidden", {{"units", 2}, {"batch_input_shape", {nullptr, 3}}}),
                            bare("Dense", "out", {{"units", 1}, {"activation", "softmax_v2"}})});
}

Keras2File two_layers_file() {
  return {{{"model_config", two_layers().dump()},
           {"keras_version", "2.2.4-tf"},
           {"training_config", R"({"loss": {"class_name": "BinaryCrossentropy", "config": {"reduction": "auto"}},
                                   "optimizer_config": {"class_name": "Adam", "config": {}}, "metrics": null})"}},
          "model_weights",
          {{"hidden", {{"hidden/kernel:0", {3, 2}, 1}, {"hidden/bias:0", {2}, 10}}},
           {"out", {{"out/kernel:0", {2, 1}, 20}, {"out/bias:0", {1}, 30}}}}};
}

const std::vector<std::vector<float>> kTwoLayersValues{{1, 2, 3, 4, 5, 6}, {10, 11}, {20, 21}, {30}};

std::string why_not(const Keras2File& file) {
  return message_of([&] { read_keras_h5(file.bytes()); });
}

TEST(KerasH5, ReadsAWholeModel) {
  const KerasModel model = read_keras_h5(two_layers_file().bytes());
  ASSERT_EQ(model.graph.nodes.size(), 3U);
  EXPECT_EQ(model.graph.nodes[0].output, graph::Shape{3}) << "from the first layer's batch_input_shape";
  EXPECT_EQ(model.graph.nodes[2].attributes.at("activation"), "softmax");
  EXPECT_EQ(model.weights.values, kTwoLayersValues);
  EXPECT_EQ(compiled_losses(model.compile, model.graph), std::vector<std::string>{"binary_crossentropy"});
  EXPECT_TRUE(model.compile.contains("optimizer"));
}

/// Adam's state of two_layers_file(), in the order of the weights.
std::vector<OptimizerVariable> adam_variables() {
  std::vector<OptimizerVariable> variables{{"iteration", {}, {}}, {"learning_rate", {}, {0.5F}}};
  for (const graph::Shape& shape : {graph::Shape{3, 2}, graph::Shape{2}, graph::Shape{2, 1}, graph::Shape{1}})
    for (const char* name : {"momentum", "velocity"}) variables.push_back({name, shape, {}});
  return variables;
}

Keras2File two_layers_trained(bool recent) {
  Keras2File file = two_layers_file();
  const std::vector<std::pair<std::string, graph::Shape>> weights{
      {"hidden/kernel", {3, 2}}, {"hidden/bias", {2}}, {"out/kernel", {2, 1}}, {"out/bias", {1}}};
  float next = 100;
  const auto add = [&](const std::string& role, const auto& weight) {
    const auto& [name, shape] = weight;
    const std::string path = recent ? "Adam/" + role + "/" + name : "training/Adam/" + name + "/" + role;
    file.optimizer.push_back({path + ":0", shape, next});
    next += 10;
  };
  file.optimizer.push_back({recent ? "iteration:0" : "Adam/iter:0", {}, 7});
  if (recent) {
    for (const auto& weight : weights)
      for (const char* role : {"m", "v"}) add(role, weight);
  } else {
    for (const char* role : {"m", "v"})
      for (const auto& weight : weights) add(role, weight);
  }
  return file;
}

TEST(KerasH5, ReadsTheOptimizersStateByName) {
  for (const bool recent : {true, false}) {
    auto variables = adam_variables();
    ASSERT_TRUE(read_h5_optimizer(two_layers_trained(recent).bytes(), variables)) << recent;
    EXPECT_EQ(variables[0].values, std::vector<float>{7});
    EXPECT_EQ(variables[1].values, std::vector<float>{0.5F}) << "the learning rate is elsewhere";
    EXPECT_EQ(variables[2].values, (std::vector<float>{100, 101, 102, 103, 104, 105})) << recent;
    EXPECT_EQ(variables[3].values[0], recent ? 110 : 140) << "the kernel's velocity";
    EXPECT_EQ(variables[4].values[0], recent ? 120 : 110) << "the bias's momentum";
    EXPECT_EQ(variables[9].values[0], 170) << recent;
  }
}

TEST(KerasH5, AnOptimizerThatWasNotTrainedHasNoState) {
  auto variables = adam_variables();
  EXPECT_FALSE(read_h5_optimizer(two_layers_file().bytes(), variables));
  Keras2File file = two_layers_trained(true);
  file.optimizer.resize(1);
  EXPECT_FALSE(read_h5_optimizer(file.bytes(), variables));
}

TEST(KerasH5, RefusesAnotherOptimizersState) {
  const auto why = [](const Keras2File& file) {
    return message_of([&] {
      auto variables = adam_variables();
      read_h5_optimizer(file.bytes(), variables);
    });
  };
  Keras2File file = two_layers_trained(true);
  file.optimizer.pop_back();
  expect_in(why(file), {"3 variables for 'velocity' where 4", "train.optimizer.name"});
  file = two_layers_trained(true);
  file.optimizer[1].shape = {2, 3};
  expect_in(why(file), {"momentum", "(3, 2)"});
  file = two_layers_trained(false);
  file.optimizer.erase(file.optimizer.begin());
  expect_in(why(file), {"0 variables for 'iteration'"});
}

TEST(KerasH5, ReadsSplitLists) {
  Keras2File file = two_layers_file();
  file.names_a_part = 1;
  EXPECT_EQ(read_keras_h5(file.bytes()).weights.values, kTwoLayersValues);
}

TEST(KerasH5, LayersMayHaveSlashesInTheirNames) {
  Keras2File file = two_layers_file();
  json config = two_layers();
  config["config"]["layers"][0]["config"]["name"] = file.layers[0].name = "block/hidden";
  file.attributes["model_config"] = config.dump();
  EXPECT_EQ(read_keras_h5(file.bytes()).weights.values, kTwoLayersValues);
}

// A model inside is one layer of the file: first what its layers train, then the rest. Its first call has the number 1.
TEST(KerasH5, ReadsAModelInAModel) {
  json inner =
      functional("inner",
                 {input("in", {nullptr, 2}), layer("Dense", "a", {{"units", 2}}, json::array({call_of("in")})),
                  layer("BatchNormalization", "bn", {{"axis", {1}}, {"scale", false}}, json::array({call_of("a")})),
                  layer("Dense", "b", {{"units", 2}, {"use_bias", false}}, json::array({call_of("bn")}))},
                 {"b", 0, 0});
  inner["name"] = "inner";
  inner["inbound_nodes"] = json::array({call_of("x"), call_of("inner", 1)});
  const json model = functional("outer", {input("x", {nullptr, 2}), inner}, {"inner", 2, 0});
  const Keras2File file{{{"model_config", model.dump()}, {"keras_version", "2.4.0"}},
                        "model_weights",
                        {{"x", {}},
                         {"inner",
                          {{"a/kernel:0", {2, 2}, 0},
                           {"a/bias:0", {2}, 10},
                           {"bn/beta:0", {2}, 20},
                           {"b/kernel:0", {2, 2}, 30},
                           {"bn/moving_mean:0", {2}, 40},
                           {"bn/moving_variance:0", {2}, 50}}}}};
  const KerasModel read = read_keras_h5(file.bytes());
  ASSERT_EQ(read.graph.nodes.size(), 7U);
  EXPECT_EQ(read.graph.nodes[4].shares, 1);
  EXPECT_EQ(read.graph.nodes[4].inputs, std::vector<int>{3});
  EXPECT_EQ(read.weights.values,
            (std::vector<std::vector<float>>{{0, 1, 2, 3}, {10, 11}, {20, 21}, {40, 41}, {50, 51}, {30, 31, 32, 33}}));
}

TEST(KerasH5, RefusesWrongWeights) {
  Keras2File file = two_layers_file();
  std::swap(file.layers[0].arrays[0].shape[0], file.layers[0].arrays[0].shape[1]);
  expect_in(why_not(file), {"'hidden'", "'kernel'", "(2, 3)", "(3, 2)"});
  file = two_layers_file();
  file.layers[1].arrays.pop_back();
  expect_in(why_not(file), {"'out'", "2 weights", "the file 1", "out/kernel:0"});
  file = two_layers_file();
  file.layers.pop_back();
  expect_in(why_not(file), {"'out'", "none"});
  file = two_layers_file();
  file.layers.push_back({"third", {{"third/kernel:0", {1}, 0}}});
  expect_in(why_not(file), {"'third'", "third/kernel:0", "has not"});
  file = two_layers_file();
  file.layers[0].arrays[0].name = "hidden/bias_1:0";
  expect_in(why_not(file), {"'hidden'", "bias_1:0", "'kernel'"});
}

TEST(KerasH5, RefusesWhatIsNoModel) {
  Keras2File file = two_layers_file();
  file.attributes["model_config"] = "{";
  expect_in(why_not(file), {"not the description of a Keras model"});
  file = two_layers_file();
  file.attributes["training_config"] = "{";
  expect_in(why_not(file), {"training_config"});
  file = two_layers_file();
  file.attributes["keras_version"] = "1.2.2";
  expect_in(why_not(file), {"Keras 1.2.2"});
  file = two_layers_file();
  file.attributes.erase("model_config");
  expect_in(why_not(file), {"weights only", "model.json+weights.h5"});
  expect_in(why_not({}), {"no Keras model", "model_config"});
  expect_in(message_of([] { read_keras_h5("no HDF5"); }), {"not a readable HDF5"});
  const std::string whole = two_layers_file().bytes();
  for (size_t size = 0; size < whole.size(); size += 97) {
    const std::string why = message_of([&] { read_keras_h5(std::string_view(whole).substr(0, size)); });
    EXPECT_TRUE(why.find("complete?") != std::string::npos) << size << ": " << why;
  }
}

class KerasFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file_atomically(folder_ / name, bytes);
    return (folder_ / name).string();
  }

  const TemporaryFolder folder_;
};

TEST_F(KerasFiles, AreKnownByTheirNamesAndContent) {
  const std::string whole = two_layers_file().bytes();
  for (const char* name : {"model.h5", "model.hdf5", "model.of_another_name"})
    EXPECT_EQ(read_keras(write(name, whole)).weights.values, kTwoLayersValues) << name;
  const auto why = [&](const std::string& path) { return message_of([&] { read_keras(path); }); };
  expect_in(why(write("cut.h5", whole.substr(0, whole.size() / 2))), {"cut.h5", "complete?"});
  expect_in(why(write("empty.h5", "")), {"empty.h5", "complete?"});
  expect_in(why((folder_ / "absent.h5").string()), {"absent.h5", "cannot be read"});
}

TEST_F(KerasFiles, ArchitectureAndWeights) {
  json description = two_layers();
  description["keras_version"] = "2.15.0";
  const std::string architecture = write("model.json", description.dump());
  Keras2File file = two_layers_file();
  file.group = "";
  file.attributes = {{"backend", "tensorflow"}};
  const std::string weights = write("weights.h5", file.bytes());
  EXPECT_EQ(read_keras(architecture + "+" + weights).weights.values, kTwoLayersValues);
  const KerasModel model = read_keras_parts(architecture, weights);
  EXPECT_TRUE(model.compile.is_null());

  const std::string store = write_weight_store({{"layers/dense", &model.graph.nodes[1], model.weights.values.data()},
                                                {"layers/dense_1", &model.graph.nodes[2], &model.weights.values[2]}});
  EXPECT_EQ(read_keras_parts(architecture, write("model.weights.h5", store)).weights.values, kTwoLayersValues);
  EXPECT_EQ(read_keras_parts(architecture, write("model.h5", two_layers_file().bytes())).weights.values,
            kTwoLayersValues);

  const auto why = [&](const std::string& path) { return message_of([&] { read_keras(path); }); };
  // As Keras 2.12 and 2.13 name the groups.
  const Keras2File before{{},
                          "_layer_checkpoint_dependencies",
                          {{"dense", {{"vars/0", {3, 2}, 1}, {"vars/1", {2}, 10}}},
                           {"dense_2", {{"vars/0", {2, 1}, 20}, {"vars/1", {1}, 30}}}}};
  EXPECT_EQ(read_keras_parts(architecture, write("before.weights.h5", before.bytes())).weights.values,
            kTwoLayersValues);

  expect_in(why(weights), {"weights.h5", "weights only", "model.json+weights.h5"});
  expect_in(why(write("alone.weights.h5", store)), {"alone.weights.h5", "weights only"});
  expect_in(why(write("broken.json", "{") + "+" + weights), {"broken.json", "not the description"});
  expect_in(why(architecture + "+" + write("cut.h5", store.substr(0, 1000))), {"cut.h5", "complete?"});
  expect_in(why((folder_ / "absent.json").string() + "+" + weights), {"absent.json", "cannot be read"});
  file.layers[0].arrays[1].shape = {3};
  expect_in(why(architecture + "+" + write("other.h5", file.bytes())), {"other.h5", "'hidden'", "'bias'", "(3)"});
}

TEST(Keras2Config, WritesWhatKeras3Understands) {
  const json gru{{"name", "gru"}, {"units", 3}, {"recurrent_activation", "hard_sigmoid"}};
  const json read = modern_layer(
      bare("Bidirectional", "both", {{"layer", {{"class_name", "GRU"}, {"config", gru}}}, {"merge_mode", "concat"}}));
  const json& forward = read["config"]["layer"]["config"];
  const json& backward = read["config"]["backward_layer"]["config"];
  EXPECT_EQ(forward["recurrent_activation"], "keras2_hard_sigmoid") << "another function than in Keras 3";
  EXPECT_EQ(forward["reset_after"], false);
  EXPECT_FALSE(forward.contains("go_backwards"));
  EXPECT_EQ(backward["go_backwards"], true);
  EXPECT_EQ(backward["name"], "backward_gru");
  EXPECT_EQ(modern_layer(bare("BatchNormalizationV1", "bn", {}))["class_name"], "BatchNormalization");
  expect_in(message_of([] {
              modern_layer(bare("TFOpLambda", "tf.add", {{"function", "math.add"}}));
            }),
            {"'tf.add'", "TFOpLambda", "math.add"});
}

TEST(Keras2Config, HardSigmoidIsNotWritten) {
  const json description =
      sequential("s", json::array({bare("Dense", "d", {{"units", 2}, {"activation", "hard_sigmoid"}})}));
  json keras2 = description;
  keras2["config"]["layers"][0]["config"]["batch_input_shape"] = {nullptr, 3};
  const graph::Graph graph = read_keras_config(keras2.dump(), "2.15.0").graph;
  EXPECT_EQ(graph.nodes[1].attributes.at("activation"), "keras2_hard_sigmoid");
  EXPECT_EQ(read_keras_config(keras2.dump(), "3.3.3").graph.nodes[1].attributes.at("activation"), "hard_sigmoid");
  expect_in(message_of([&] { write_keras_config(graph); }), {"'d'", "hard_sigmoid"});
}

TEST(Keras2Config, TensorsAmongNamedArguments) {
  json attention = layer("MultiHeadAttention", "mha", {{"num_heads", 2}, {"key_dim", 3}}, json::array());
  attention["inbound_nodes"] =
      json::parse(R"([[["q", 0, 0, {"value": ["v", 0, 0], "attention_mask": null, "use_causal_mask": true}]]])");
  json model = functional("m", {input("q", {nullptr, 5, 4}), input("v", {nullptr, 5, 4}), attention}, {"mha", 0, 0});
  model["config"]["input_layers"].push_back({"v", 0, 0});
  const graph::Graph graph = read_keras_config(model.dump(), "2.15.0").graph;
  EXPECT_EQ(graph.nodes[2].inputs, (std::vector<int>{0, 1}));
  EXPECT_EQ(graph.nodes[2].attributes.at("use_causal_mask"), true);
  model["config"]["layers"].push_back(input("seen", {nullptr, 5, 5}));
  model["config"]["input_layers"].push_back({"seen", 0, 0});
  model["config"]["layers"][2]["inbound_nodes"][0][0][3]["attention_mask"] = {"seen", 0, 0};
  const graph::Graph masked = read_keras_config(model.dump(), "2.15.0").graph;
  const auto mha = static_cast<size_t>(masked.find("mha"));
  EXPECT_TRUE(graph::has_attention_mask(masked.nodes[mha]));
  EXPECT_EQ(masked.nodes[mha].inputs.size(), 3U);
  const std::string written = write_keras_config(masked).config.dump();
  const graph::Graph again = read_keras_config(written).graph;
  EXPECT_TRUE(graph::has_attention_mask(again.nodes[static_cast<size_t>(again.find("mha"))]));
  model["config"]["layers"].back() = input("seen", {nullptr, 4, 5});
  expect_in(message_of([&] { read_keras_config(model.dump(), "2.15.0"); }), {"'mha'", "attention_mask", "(4, 5)"});
}

json at_steps(const json& input_shape, const json& layers) {
  json wrapper{{"layer", sequential("inner", layers)}};
  return functional("m", {input("x", input_shape), layer("TimeDistributed", "each", wrapper, call_of("x"))},
                    {"each", 0, 0});
}

TEST(Keras2Config, AModelAtEachStep) {
  const json dense = json::array({bare("Dense", "d", {{"units", 2}, {"batch_input_shape", {nullptr, 4}}})});
  const KerasConfig read = read_keras_config(at_steps({nullptr, 3, 4}, dense).dump(), "2.15.0");
  const graph::Graph& graph = read.graph;
  EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.outputs[0])].name, "each");
  EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.outputs[0])].output, (graph::Shape{3, 2}));
  EXPECT_EQ(graph::count_weights(graph, false), 4 * 2 + 2) << "the same at all steps";
  const auto first = static_cast<size_t>(graph.find("each_d"));
  EXPECT_EQ(read.groups[first], "layers/time_distributed/layer/layers/dense");
  EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.find("each_d_2"))].shares, static_cast<int>(first));
  const auto refusal = [](const json& model) { return message_of([&] { read_keras_config(model.dump(), "2.15.0"); }); };
  expect_in(refusal(at_steps({nullptr, nullptr, 4}, dense)), {"'each'", "a known number of steps"});
  expect_in(refusal(at_steps({nullptr, 999, 4}, dense)), {"'each'", "has 999 steps"});
  const json norm = json::array({bare("BatchNormalization", "b", {{"batch_input_shape", {nullptr, 4}}})});
  expect_in(refusal(at_steps({nullptr, 3, 4}, norm)), {"'each'", "BatchNormalization", "Keras 2"});
}

/// A base of batch normalisation and dropout that a model calls with these arguments.
json with_base(const json& arguments) {
  json base = functional("base",
                         {input("b", {nullptr, 4}), layer("BatchNormalization", "norm", json::object(), call_of("b")),
                          layer("Dropout", "drop", {{"rate", 0.5}}, call_of("norm"))},
                         {"drop", 0, 0});
  base["name"] = "base";
  base["inbound_nodes"] = json::array({json::array({json::array({"x", 0, 0, arguments})})});
  return functional("m", {input("x", {nullptr, 4}), base, layer("Dense", "out", {{"units", 1}}, call_of("base", 1))},
                    {"out", 0, 0});
}

TEST(Keras2Config, ACallForPredictionPredictsInTraining) {
  const graph::Graph graph = read_keras_config(with_base({{"training", false}}).dump(), "2.15.0").graph;
  const auto predicts = [&](const char* name) {
    return graph::always_predicts(graph.nodes[static_cast<size_t>(graph.find(name))]);
  };
  EXPECT_TRUE(predicts("base_norm") && predicts("base_drop"));
  EXPECT_FALSE(predicts("out"));
  graph::Parameters parameters = graph::Parameters::of(graph);
  for (const float added : graph::statistics_update(graph, parameters).added) EXPECT_EQ(added, 0);
  const graph::Graph usual = read_keras_config(with_base({{"training", nullptr}}).dump(), "2.15.0").graph;
  EXPECT_FALSE(graph::always_predicts(usual.nodes[static_cast<size_t>(usual.find("base_norm"))]));
}

TEST(Keras2Config, RefusesArgumentsOfCalls) {
  const auto refusal = [](const json& arguments) {
    return message_of([&] { read_keras_config(with_base(arguments).dump(), "2.15.0"); });
  };
  expect_in(refusal({{"training", true}}), {"'base'", "training = true", "Keras 2", "leave the argument out"});
  expect_in(refusal({{"training", "no"}}), {"'base'", "training = \"no\"", "true or false"});
  expect_in(refusal({{"mask", {"x", 0, 0}}}), {"'base'", "mask"});
  expect_in(refusal({{"use_causal_mask", true}}), {"'base'", "use_causal_mask"});
  expect_in(refusal({{"constants", {"x", 0, 0}}}), {"'base'", "constants"});
  expect_in(refusal({{"keepdims", false}}), {"'base'", "keepdims = false"});
}

graph::Graph graph_of(const std::string& class_name, json config) {
  config["batch_input_shape"] = {nullptr, 4};
  return read_keras_config(sequential("s", json::array({bare(class_name, "layer", config)})).dump(), "2.15.0").graph;
}

TEST(Keras2Config, NumbersSpelledOtherwise) {
  const auto attribute = [](const std::string& class_name, const json& config, const char* key) {
    return graph_of(class_name, config).nodes[1].attributes.at(key);
  };
  EXPECT_EQ(attribute("BatchNormalization", {{"epsilon", false}}, "epsilon"), 0.0) << "of a published model";
  EXPECT_EQ(attribute("BatchNormalization", {{"center", 0}}, "center"), false);
  EXPECT_EQ(attribute("Dense", {{"units", 2}, {"use_bias", 0}}, "use_bias"), false);
  EXPECT_EQ(attribute("LeakyReLU", {{"alpha", false}}, "negative_slope"), 0.0);
  const json array{{"class_name", "__numpy__"}, {"config", {{"value", 0.25}, {"dtype", "float64"}}}};
  EXPECT_EQ(attribute("LeakyReLU", {{"negative_slope", array}}, "negative_slope"), 0.25);
  EXPECT_EQ(attribute("ELU", {{"alpha", {{"type", "ndarray"}, {"value", 0.5}}}}, "alpha"), 0.5);
  EXPECT_EQ(attribute("ThresholdedReLU", {{"theta", {{"type", "ndarray"}, {"value", 0.5}}}}, "threshold"), 0.5);
  EXPECT_EQ(attribute("Dropout", {{"rate", false}}, "rate"), 0.0);
  EXPECT_EQ(attribute("Dense", {{"units", 2}, {"trainable", 0}}, "trainable"), false);
  const json l2{{"class_name", "L2"}, {"config", {{"l2", false}}}};
  EXPECT_EQ(attribute("Dense", {{"units", 2}, {"kernel_regularizer", l2}}, "kernel_regularizer").at("l2"), 0.0);
}

TEST(Keras2Config, RefusesValuesOfAnotherType) {
  const auto refusal = [](const std::string& class_name, const json& config) {
    return message_of([&] { graph_of(class_name, config); });
  };
  expect_in(refusal("BatchNormalization", {{"epsilon", "small"}}),
            {"'layer' (BatchNormalization)", "epsilon = \"small\"", "a number"});
  expect_in(refusal("Dense", {{"units", 2}, {"use_bias", "yes"}}), {"'layer' (Dense)", "use_bias = \"yes\""});
  expect_in(refusal("Dense", {{"units", 2}, {"trainable", 3}}), {"'layer' (Dense)", "trainable = 3"});
  const json scale{{"class_name", "VarianceScaling"}, {"config", {{"scale", "one"}}}};
  expect_in(refusal("Dense", {{"units", 2}, {"kernel_initializer", scale}}),
            {"'layer' (Dense)", "kernel_initializer = \"one\""});
  const json mode{{"class_name", "VarianceScaling"}, {"config", {{"mode", 1}}}};
  expect_in(refusal("Dense", {{"units", 2}, {"kernel_initializer", mode}}), {"'layer'", "kernel_initializer"});
  const json l1{{"class_name", "L1"}, {"config", {{"l1", "0.1"}}}};
  expect_in(refusal("Dense", {{"units", 2}, {"kernel_regularizer", l1}}),
            {"'layer'", "kernel_regularizer: l1 = \"0.1\""});
  const std::string bounded = refusal("Dense", {{"units", 2}, {"unknown", json(std::vector<int>(100'000, 7))}});
  expect_in(bounded, {"'layer' (Dense)", "unknown"});
  EXPECT_LT(bounded.size(), 600U);
}

TEST(Keras2Config, RefusesTimeMajor) {
  const json gru = bare("GRU", "steps", {{"units", 2}, {"time_major", true}, {"batch_input_shape", {nullptr, 4, 3}}});
  expect_in(message_of([&] { read_keras_config(sequential("s", json::array({gru})).dump(), "2.15.0"); }),
            {"'steps'", "GRU", "time_major"});
}

}  // namespace
}  // namespace linac::keras
