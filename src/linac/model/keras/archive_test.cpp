#include "linac/model/keras/archive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/archive/zip_archive.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/keras/config.h"
#include "linac/model/keras/hdf5_image.h"
#include "linac/model/keras/layers.h"
#include "linac/model/keras/weight_store.h"

namespace linac::keras {
namespace {

using nlohmann::json;

class Archive : public testing::Test {
 protected:
  std::filesystem::path file(const char* name = "model.keras") const { return folder_ / name; }

  const TemporaryFolder folder_;
};

// Every class the archive knows, with branches of different depth so that Keras's order is not ours.
graph::Graph every_layer() {
  graph::Builder b("every_layer");
  const int latent = b.input("latent", {6});
  const int image = b.input("image", {9, 9, 8, 1});
  int z = b.add("Dense", "dense", {latent}, {{"units", 27}, {"kernel_initializer", "he_uniform"}});
  z = b.add("Reshape", "reshape", {z}, {{"target_shape", {3, 3, 3, 1}}});
  z = b.add("Conv3D", "short_conv", {z}, {{"filters", 2}, {"kernel_size", {2, 2, 2}}, {"activation", "relu"}});
  int x = b.add("Conv3D", "conv_1", {image}, {{"filters", 4}, {"kernel_size", {3, 4, 2}}, {"padding", "same"}});
  x = b.add("LeakyReLU", "leaky_1", {x}, {{"negative_slope", 0.2}});
  x = b.add("Dropout", "drop_1", {x}, {{"rate", 0.25}});
  x = b.add("ZeroPadding3D", "pad_2", {x}, {{"padding", {0, 0, 1}}});
  x = b.add("Conv3D", "conv_2", {x},
            {{"filters", 3}, {"kernel_size", {2, 2, 2}}, {"use_bias", false}, {"kernel_initializer", "glorot_normal"}});
  x = b.add("Activation", "relu_2", {x}, {{"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_2", {x}, {{"epsilon", 1e-6}, {"momentum", 0.9}});
  x = b.add("UpSampling3D", "up", {x}, {{"size", {2, 1, 2}}});
  x = b.add("AveragePooling3D", "pool", {x}, {{"pool_size", {2, 2, 2}}});
  x = b.add("Flatten", "flatten", {x});
  const int y = b.add("Flatten", "flatten_short", {z});
  x = b.add("Concatenate", "join", {x, y});
  const int generation = b.add("Dense", "generation", {x}, {{"units", 1}, {"activation", "sigmoid"}});
  const int auxiliary = b.add("Dense", "auxiliary", {x}, {{"units", 1}});
  return b.finish({generation, auxiliary});
}

graph::Graph tiny() {
  graph::Builder b("tiny");
  const int x = b.input("x", {3});
  return b.finish({b.add("Dense", "dense", {x}, {{"units", 2}})});
}

// Values that tell weight and place.
graph::WeightValues numbered(const graph::Graph& graph) {
  graph::WeightValues weights;
  for (const graph::Node& node : graph.nodes) {
    for (const graph::Weight& weight : node.weights) {
      std::vector<float> values(static_cast<size_t>(graph::elements(weight.shape)));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(weights.values.size()) + static_cast<float>(i) * 0x1p-20F;
      weights.values.push_back(std::move(values));
    }
  }
  return weights;
}

// The weights of the node called `name`.
std::vector<std::vector<float>> weights_of(const graph::Graph& graph, const graph::WeightValues& weights,
                                           const std::string& name) {
  size_t first = 0;
  for (const graph::Node& node : graph.nodes) {
    const auto begin = weights.values.begin() + static_cast<std::ptrdiff_t>(first);
    if (node.name == name) return {begin, begin + static_cast<std::ptrdiff_t>(node.weights.size())};
    first += node.weights.size();
  }
  return {};
}

TEST_F(Archive, KeepsEveryLayer) {
  const graph::Graph graph = every_layer();
  const graph::WeightValues weights = numbered(graph);
  write_keras(graph, weights, file(), {{"power", 0.85}});
  const KerasModel model = read_keras(file());

  EXPECT_EQ(model.extra.at("power"), 0.85);
  EXPECT_EQ(model.graph.name, "every_layer");
  ASSERT_EQ(model.graph.nodes.size(), graph.nodes.size());
  for (const graph::Node& node : graph.nodes) {
    const graph::Node& read = model.graph.nodes[static_cast<size_t>(model.graph.find(node.name))];
    EXPECT_EQ(read.op, node.op);
    EXPECT_EQ(read.output, node.output) << node.name;
    for (const auto& [key, value] : node.attributes.items()) EXPECT_EQ(read.attributes.at(key), value) << node.name;
    ASSERT_EQ(read.inputs.size(), node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      EXPECT_EQ(model.graph.nodes[static_cast<size_t>(read.inputs[i])].name,
                graph.nodes[static_cast<size_t>(node.inputs[i])].name);
    }
    EXPECT_EQ(weights_of(model.graph, model.weights, node.name), weights_of(graph, weights, node.name)) << node.name;
    for (size_t i = 0; i < node.weights.size(); ++i) {
      EXPECT_EQ(read.weights[i].initializer, node.weights[i].initializer);
    }
  }
  for (const auto& [list, read] : {std::pair{graph.inputs, model.graph.inputs}, {graph.outputs, model.graph.outputs}}) {
    ASSERT_EQ(read.size(), list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(model.graph.nodes[static_cast<size_t>(read[i])].name, graph.nodes[static_cast<size_t>(list[i])].name);
    }
  }
}

/// The states of one layer begin another, whose sequence has any length.
graph::Graph decoder() {
  graph::Builder b("decoder");
  const int a = b.input("a", {7, 4}),
            x = b.add("InputLayer", "x", {}, {{"shape", {graph::kProvisionalSize, 3}}, {"open", {0}}}),
            encoder = b.add("LSTM", "encoder", {a}, {{"units", 5}, {"return_state", true}}),
            h = b.add(graph::kPart, "encoder_output_1", {encoder}, {{"index", 1}}),
            c = b.add(graph::kPart, "encoder_output_2", {encoder}, {{"index", 2}}),
            steps = b.add("LSTM", "steps", {x, h, c}, {{"units", 5}, {"return_sequences", true}});
  graph::Graph graph = b.finish({steps, c});
  graph.inputs = {a, x};
  return graph;
}

// HDF5 looks for a file of the name that one in memory has.
TEST_F(Archive, AFileOfKerasInTheWorkingFolderIsLeftAlone) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  for (const char* name : {"model.weights.h5", "in-memory.h5"}) write_file_atomically(name, "weights of somebody");
  const graph::Graph graph = every_layer();
  EXPECT_NO_THROW({
    write_keras(graph, numbered(graph), file(), {});
    EXPECT_EQ(read_keras(file()).graph.nodes.size(), graph.nodes.size());
  });
  for (const char* name : {"model.weights.h5", "in-memory.h5"}) EXPECT_EQ(read_file(name), "weights of somebody");
  std::filesystem::current_path(before);
}

TEST_F(Archive, FilesInMemoryAreEachTheirOwn) {
  const auto weights_file = [&](const graph::Graph& graph) {
    write_keras(graph, numbered(graph), file(), {});
    return archive::ZipReader(file()).read("model.weights.h5", uint64_t{1} << 20).value();
  };
  const std::string small = weights_file(tiny()), large = weights_file(every_layer());
  const Hdf5Image one(small, "one"), other(large, "other");
  const int64_t layers = one.children("layers");
  EXPECT_GT(other.children("layers"), layers + 5);
  EXPECT_EQ(one.children("layers"), layers);
}

TEST_F(Archive, KeepsPartsAndOpenSizes) {
  const graph::Graph graph = decoder();
  write_keras(graph, numbered(graph), file(), nullptr);
  const KerasModel model = read_keras(file());
  const auto node = [&](const std::string& name) {
    return model.graph.nodes[static_cast<size_t>(model.graph.find(name))];
  };
  const auto name = [&](int index) { return model.graph.nodes[static_cast<size_t>(index)].name; };
  EXPECT_EQ(name(model.graph.outputs.at(1)), "encoder_output_2");
  EXPECT_EQ(graph::part_number(node("encoder_output_2")), 2U);
  ASSERT_EQ(node("steps").inputs.size(), 3U);
  EXPECT_EQ(name(node("steps").inputs[1]), "encoder_output_1");
  EXPECT_EQ(graph::describe_open_shape(node("x")), "(None, 3)");
  EXPECT_EQ(weights_of(model.graph, model.weights, "steps"), weights_of(graph, numbered(graph), "steps"));

  const json config = write_keras_config(graph).config.at("config");
  for (const json& layer : config.at("layers")) {
    if (layer.at("name") != "steps") continue;
    const json call = layer.at("inbound_nodes").at(0);
    EXPECT_EQ(call.at("args").size(), 1U);
    EXPECT_EQ(call.at("args").at(0).at("config").at("shape"), json::parse("[null, null, 3]"));
    EXPECT_EQ(call.at("kwargs").at("initial_state").at(1).at("config").at("keras_history"),
              json::parse(R"(["encoder", 0, 2])"));
    EXPECT_EQ(layer.at("build_config").at("input_shape"), json::parse("[null, null, 3]"));
  }
  EXPECT_EQ(config.at("output_layers").at(1), json::parse(R"(["encoder", 0, 2])"));
}

TEST_F(Archive, APartThatIsNotThereIsRefused) {
  json config = write_keras_config(decoder()).config;
  const auto refusal = [&](const json& output) {
    config["config"]["output_layers"][1] = output;
    return message_of([&] { read_keras_config(config.dump()); });
  };
  EXPECT_NE(refusal({"encoder", 0, 3}).find("'encoder' (LSTM) has 3 outputs, and output 3 is read"), std::string::npos);
  EXPECT_NE(refusal({"steps", 0, 1}).find("'steps' (LSTM) has one output"), std::string::npos);
  EXPECT_NE(refusal({"a", 0, 1}).find("reads output 1 of 'a', which has 1"), std::string::npos);
}

TEST_F(Archive, SameModelSameBytes) {
  const graph::Graph graph = every_layer();
  write_keras(graph, numbered(graph), file("a.keras"), nullptr);
  write_keras(graph, numbered(graph), file("b.keras"), nullptr);
  EXPECT_EQ(read_file(file("a.keras")), read_file(file("b.keras")));
  const KerasModel model = read_keras(file("a.keras"));
  EXPECT_TRUE(model.extra.is_null());
  // A graph that was read is in Keras's order, and writes itself again.
  write_keras(model.graph, model.weights, file("c.keras"), nullptr);
  write_keras(read_keras(file("c.keras")).graph, model.weights, file("d.keras"), nullptr);
  EXPECT_EQ(read_file(file("c.keras")), read_file(file("d.keras")));
}

TEST_F(Archive, ReplacesTheFileAsAWhole) {
  const graph::Graph graph = tiny();
  write_keras(graph, numbered(graph), file(), nullptr);
  const std::string before = read_file(file());
  graph::Builder b("shower");
  const int image = b.input("image", {4, 4, 4, 1});
  const graph::Graph unknown = b.finish({b.add("ShowerSum", "ecal", {image}, {{"power", 1.0}})});
  expect_in(message_of([&] { write_keras(unknown, {}, file(), nullptr); }), {"'ecal'", "ShowerSum", "leave it out"});
  EXPECT_EQ(read_file(file()), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << "a temporary file stayed";
}

TEST_F(Archive, RefusesALayerThatLeadsNowhere) {
  graph::Graph graph = tiny();
  graph.nodes.push_back({"loose", "Flatten", json::object(), {0}, {}, {}});
  graph::infer_shapes(graph);
  expect_in(message_of([&] { write_keras(graph, numbered(graph), file(), nullptr); }), {"'loose'", "no output"});
}

TEST_F(Archive, RefusesDamagedFiles) {
  expect_in(message_of([&] { read_keras(file("absent.keras")); }), {"absent.keras", "cannot be read"});
  const graph::Graph graph = every_layer();
  write_keras(graph, numbered(graph), file(), nullptr);
  const std::string whole = read_file(file());
  for (const size_t size : {size_t{0}, size_t{10}, whole.size() / 2, whole.size() - 1}) {
    write_file_atomically(file("cut.keras"), std::string_view(whole).substr(0, size));
    expect_in(message_of([&] { read_keras(file("cut.keras")); }), {"cut.keras"});
  }
  std::string flipped = whole;
  flipped[flipped.find("negative_slope")] ^= 1;
  write_file_atomically(file("flipped.keras"), flipped);
  expect_in(message_of([&] { read_keras(file("flipped.keras")); }), {"flipped.keras", "config.json", "damaged"});
}

TEST_F(Archive, RefusesMembersThatAreNotWhatTheirNameSays) {
  const auto written = write_keras_config(tiny());
  const std::string config = written.config.dump();
  const auto read = [&](const std::vector<archive::ZipMember>& members) {
    write_file_atomically(file(), archive::write_zip(members));
    return message_of([&] { read_keras(file()); });
  };
  expect_in(read({{"other.txt", "hello"}}), {"model.keras", "no config.json"});
  expect_in(read({{"config.json", config}}), {"model.keras", "no model.weights.h5"});
  expect_in(read({{"config.json", "{\"class_name\": "}}), {"model.keras", "config.json", "model.save()"});
  expect_in(read({{"config.json", "[1, 2]"}}), {"config.json", "not the description of a Keras model"});
  expect_in(read({{"config.json", config}, {"model.weights.h5", ""}}), {"model.keras", "not a readable HDF5"});
  expect_in(read({{"config.json", config}, {"model.weights.h5", std::string(4096, 'x')}}), {"not a readable HDF5"});
  const graph::Graph graph = tiny();
  const graph::WeightValues weights = numbered(graph);
  const std::string stored = write_weight_store({{"layers/dense", &graph.nodes[1], weights.values.data()}});
  expect_in(read({{"config.json", config}, {"model.weights.h5", stored}, {"linac.json", "{"}}), {"linac.json"});
  expect_in(read({{"config.json", config}, {"model.weights.h5", stored.substr(0, stored.size() / 2)}}),
            {"model.keras", "complete?"});
}

TEST_F(Archive, RefusesAZipBomb) {
  constexpr uint64_t kLimit = uint64_t{1} << 20;
  write_file_atomically(file(), archive::write_zip({{"config.json", std::string(kLimit + 1, ' ')}}));
  archive::ZipReader archive(file());
  expect_in(message_of([&] { archive.read("config.json", kLimit); }), {"model.keras", "config.json", "limit 1048576"});
  EXPECT_EQ(archive.read("config.json", kLimit + 1)->size(), kLimit + 1);
  EXPECT_FALSE(archive.read("absent", kLimit).has_value());

  // A central directory that promises more than the archive can hold: the size is at offset 24 of the last record.
  std::string lie = archive::write_zip({{"model.weights.h5", "small"}});
  const size_t record = lie.rfind("PK\x01\x02");
  for (size_t byte = 0; byte < 4; ++byte) lie[record + 24 + byte] = '\x7f';
  write_file_atomically(file("lie.keras"), lie);
  expect_in(message_of([&] { archive::ZipReader(file("lie.keras")).read("model.weights.h5", uint64_t{8} << 30); }),
            {"lie.keras"});
}

TEST_F(Archive, RefusesWrongWeights) {
  const graph::Graph graph = tiny();
  const graph::WeightValues weights = numbered(graph);
  const std::string config = write_keras_config(graph).config.dump();
  const auto read = [&](const std::string& store) {
    write_file_atomically(file(), archive::write_zip({{"config.json", config}, {"model.weights.h5", store}}));
    return message_of([&] { read_keras(file()); });
  };
  expect_in(read(write_weight_store({})), {"model.keras", "'dense'", "2 weights", "none"});
  graph::Node kernel_only = graph.nodes[1];
  kernel_only.weights.pop_back();
  expect_in(read(write_weight_store({{"layers/dense", &kernel_only, weights.values.data()}})),
            {"'dense'", "the file 1"});
  graph::Node transposed = graph.nodes[1];
  std::swap(transposed.weights[0].shape[0], transposed.weights[0].shape[1]);
  expect_in(read(write_weight_store({{"layers/dense", &transposed, weights.values.data()}})),
            {"'dense'", "'kernel'", "(2, 3)", "(3, 2)"});
}

// A functional model of an input and the given layers, as JSON text.
std::string model_text(const std::vector<json>& layers, const json& output = {"last", 0, 0}) {
  json all = json::array({{{"class_name", "InputLayer"},
                           {"config", {{"name", "x"}, {"batch_shape", {nullptr, 4, 4, 4, 1}}}},
                           {"inbound_nodes", json::array()}}});
  for (const json& layer : layers) all.push_back(layer);
  return json{
      {"class_name", "Functional"},
      {"config",
       {{"name", "m"}, {"layers", all}, {"input_layers", {{"x", 0, 0}}}, {"output_layers", json::array({output})}}}}
      .dump();
}

json layer(const std::string& class_name, json config, const std::string& name, const std::string& input) {
  config["name"] = name;
  const json history = {input, 0, 0};
  return {{"class_name", class_name},
          {"config", config},
          {"inbound_nodes",
           {{{"args", {{{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", history}}}}}},
             {"kwargs", json::object()}}}}};
}

TEST(KerasConfig, SortsLayersThatComeTooEarly) {
  const auto read = read_keras_config(
      model_text({layer("Flatten", {}, "last", "middle"), layer("LeakyReLU", {{"alpha", 0.1}}, "middle", "x")}));
  ASSERT_EQ(read.graph.nodes.size(), 3U);
  EXPECT_EQ(read.graph.nodes[1].name, "middle");
  EXPECT_EQ(read.graph.nodes[1].attributes.at("negative_slope"), 0.1) << "alpha is what Keras 2 calls it";
  EXPECT_EQ(read.graph.outputs, std::vector<int>{2});
  EXPECT_EQ(read.groups, (std::vector<std::string>{"layers/input_layer", "layers/leaky_re_lu", "layers/flatten"}));
}

TEST(KerasConfig, CountsGroupsInTheFilesOrder) {
  const auto read =
      read_keras_config(model_text({layer("Flatten", {}, "last", "middle"), layer("Flatten", {}, "middle", "x")}));
  EXPECT_EQ(read.graph.nodes[1].name, "middle");
  EXPECT_EQ(read.groups, (std::vector<std::string>{"layers/input_layer", "layers/flatten_1", "layers/flatten"}));
}

TEST(KerasConfig, ReadsTheWiringOfKeras2) {
  json old = layer("ReLU", {{"max_value", nullptr}, {"negative_slope", 0.0}, {"threshold", 0.0}}, "last", "x");
  old["inbound_nodes"] = json::parse(R"([[["x", 0, 0, {}]]])");
  const auto read = read_keras_config(model_text({old}));
  EXPECT_EQ(read.graph.nodes[1].op, "Activation");
  EXPECT_EQ(read.graph.nodes[1].attributes, (json{{"activation", "relu"}}));
  EXPECT_EQ(read.groups[1], "layers/re_lu");
}

TEST(KerasConfig, ReadsSequential) {
  const json layers = json::parse(R"([
    {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [null, 3]}},
    {"class_name": "Dense", "config": {"name": "a", "units": 4, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "b", "units": 2}}])");
  const auto read =
      read_keras_config(json{{"class_name", "Sequential"}, {"config", {{"name", "s"}, {"layers", layers}}}}.dump());
  EXPECT_EQ(read.graph.nodes[2].output, graph::Shape{2});
  EXPECT_EQ(read.groups[2], "layers/dense_1");
}

/// A tensor by layer and call, as a call's argument.
json tensor(const std::string& name, int call = 0) {
  return {{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", {name, call, 0}}}}};
}

json call_on(const json& arguments, const json& named = json::object()) {
  return {{"args", arguments}, {"kwargs", named}};
}

TEST(KerasConfig, ASecondCallSharesTheFirstOnesWeights) {
  json dense = layer("Dense", {{"units", 64}}, "dense", "flat");
  dense["inbound_nodes"].push_back(call_on({tensor("dense", 0)}));
  json last = layer("Add", {}, "last", "dense");
  last["inbound_nodes"] = json::array({call_on({{tensor("dense", 1), tensor("dense", 0)}})});
  const graph::Graph graph = read_keras_config(model_text({layer("Flatten", {}, "flat", "x"), dense, last})).graph;
  ASSERT_EQ(graph.nodes.size(), 5U);
  EXPECT_EQ(graph.nodes[3].shares, 2);
  EXPECT_TRUE(graph.nodes[3].weights.empty());
  EXPECT_EQ(graph.nodes[4].inputs, (std::vector<int>{3, 2}));
  EXPECT_EQ(graph::count_weights(graph, true), 64 * 64 + 64);
  const auto written = write_keras_config(graph);
  EXPECT_EQ(read_keras_config(written.config.dump()).graph.nodes[3].shares, 2) << "one layer, two calls";
}

TEST(KerasConfig, AModelInAModelBecomesPartOfIt) {
  json inner =
      json::parse(model_text({layer("Flatten", {}, "flat", "x"), layer("Dense", {{"units", 3}}, "last", "flat")}));
  inner["name"] = inner["config"]["name"] = "inner";
  inner["inbound_nodes"] = json::array({call_on({tensor("x")})});
  const auto read = read_keras_config(model_text({inner, layer("Dense", {{"units", 2}}, "last", "inner")}));
  ASSERT_EQ(read.graph.nodes.size(), 4U);
  EXPECT_EQ(read.graph.nodes[2].name, "inner_last");
  EXPECT_EQ(read.groups[2], "layers/functional/layers/dense");
  EXPECT_EQ(read.groups[3], "layers/dense");
  EXPECT_EQ(read.graph.nodes[3].inputs, std::vector<int>{2});
}

TEST(KerasConfig, KeepsAMaskThatIsGivenByName) {
  json any = layer("Any", {{"axis", {2, 3, 4}}}, "any", "x");
  any["module"] = "keras.src.ops.numpy";
  any["name"] = "any";
  any["config"].erase("name");  // as Keras 3.3 wrote it
  json gru = layer("GRU", {{"units", 2}}, "last", "steps");
  gru["inbound_nodes"][0]["kwargs"]["mask"] = tensor("any");
  const auto read =
      read_keras_config(model_text({layer("Reshape", {{"target_shape", {4, 16}}}, "steps", "x"), any, gru}));
  EXPECT_EQ(read.graph.nodes[2].op, "ops.Any");
  EXPECT_EQ(read.graph.nodes[3].mask, 2);
  EXPECT_EQ(write_keras_config(read.graph).groups.size(), 3U) << "an operation has no weights";
}

TEST(KerasConfig, RefusesTextThatIsTooDeep) {
  const std::string deep =
      "{\"class_name\": \"Functional\", \"config\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  expect_in(message_of([&] { read_keras_config(deep); }), {"too deep"});
}

TEST(KerasConfig, RefusesWhatItDoesNotHave) {
  const auto message = [](const std::vector<json>& layers) {
    return message_of([&] { read_keras_config(model_text(layers)); });
  };
  expect_in(message({layer("Conv4D", {}, "last", "x")}), {"'last'", "Conv4D", "the nearest there is: Conv"});
  expect_in(message({layer("Flatten", {}, "last", "nowhere")}), {"'last'", "'nowhere'", "not there"});
  expect_in(message({layer("Flatten", {}, "last", "last")}), {"'last'", "cycle"});
  expect_in(message({layer("Flatten", {}, "a", "last"), layer("Flatten", {}, "last", "a")}), {"cycle"});
  expect_in(message({layer("Flatten", {}, "x", "x")}), {"two layers", "'x'"});
  const json orthogonal{{"class_name", "OrthogonalRegularizer"}, {"config", json::object()}};
  expect_in(message({layer("Dense", {{"units", 2}, {"kernel_regularizer", orthogonal}}, "last", "x")}),
            {"'last'", "OrthogonalRegularizer", "L1L2"});
  expect_in(message({layer("Dense", {{"units", 2}, {"recurrent_regularizer", "l2"}}, "last", "x")}),
            {"'last'", "recurrent_regularizer"});
  expect_in(message({layer("Flatten", {{"dtype", "float16"}}, "last", "x")}), {"'last'", "float16"});
  expect_in(message({layer("Flatten", {{"data_format", "channels_first"}}, "last", "x")}), {"data_format"});
  expect_in(message({layer("Flatten", {{"surprise", 3}}, "last", "x")}), {"'last'", "surprise = 3"});
  expect_in(message({layer("Reshape", {{"target_shape", {65, 1}}}, "last", "x")}), {"'last'", "(65, 1)"});
  const json wide = {int64_t{1} << 23, int64_t{1} << 23};
  expect_in(message({layer("Reshape", {{"target_shape", wide}}, "last", "x")}), {"'last'", "too many"});
  expect_in(message({layer("Dense", {{"units", int64_t{1} << 60}}, "last", "x")}), {"'last'", "too large"});
  expect_in(message({layer("Conv3D", {{"filters", "many"}, {"kernel_size", {1, 1, 1}}}, "last", "x")}),
            {"'last'", "filters"});
  json output = layer("Flatten", {}, "last", "x");
  output["inbound_nodes"][0]["args"][0]["config"]["keras_history"][2] = 1;
  expect_in(message({output}), {"'last'", "output 1 of 'x'"});
  json call = layer("Flatten", {}, "last", "x");
  call["inbound_nodes"][0]["args"][0]["config"]["keras_history"][1] = 2;
  expect_in(message({call}), {"'last'", "call 2 of 'x'"});
  json training = layer("Dropout", {{"rate", 0.5}}, "last", "x");
  training["inbound_nodes"][0]["kwargs"]["training"] = true;
  expect_in(message({training}), {"'last'", "training = true"});
  json concatenate = layer("Concatenate", {{"axis", 0}}, "last", "x");
  expect_in(message({concatenate}), {"'last'", "axis 0"});
}

TEST(KerasConfig, WritesWhatKerasCallsItsLayers) {
  const auto written = write_keras_config(every_layer());
  const graph::Graph graph = every_layer();
  std::vector<std::string> listed;
  for (size_t i = 0; i < written.order.size(); ++i) {
    if (graph.nodes[static_cast<size_t>(written.order[i])].op == "Conv3D")
      listed.push_back(graph.nodes[static_cast<size_t>(written.order[i])].name + "=" + written.groups[i]);
  }
  // By depth below the outputs: the long branch comes first, though the short one was built first.
  EXPECT_EQ(listed,
            (std::vector<std::string>{"conv_1=layers/conv3d", "conv_2=layers/conv3d_1", "short_conv=layers/conv3d_2"}));
}

TEST(KerasNames, FollowKerasSnakeCase) {
  EXPECT_EQ(keras_snake_case("Conv3D"), "conv3d");
  EXPECT_EQ(keras_snake_case("LeakyReLU"), "leaky_re_lu");
  EXPECT_EQ(keras_snake_case("UpSampling3D"), "up_sampling3d");
  EXPECT_EQ(keras_snake_case("BatchNormalization"), "batch_normalization");
  EXPECT_EQ(keras_snake_case("ReLU"), "re_lu");
  EXPECT_EQ(keras_snake_case("GlorotUniform"), "glorot_uniform");
}

}  // namespace
}  // namespace linac::keras
