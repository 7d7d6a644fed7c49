#include "linac/model/onnx/write_onnx.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/protowire.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/model/graph/layers.h"
#include "linac/model/onnx/aten/write_program.h"
#include "linac/model/onnx/layers.h"

namespace linac::onnx {
namespace {

using graph::Builder;
using graph::Graph;

graph::WeightValues counting_weights(const Graph& graph) {
  graph::WeightValues weights;
  for (const graph::Node& node : graph.nodes) {
    for (const graph::Weight& weight : node.weights) {
      weights.values.emplace_back(static_cast<size_t>(graph::elements(weight.shape)));
      std::iota(weights.values.back().begin(), weights.values.back().end(), 1.0F);
    }
  }
  return weights;
}

Model model_of(const Graph& graph) {
  return to_onnx(graph, counting_weights(graph), {});
}

int count(const Model& model, const std::string& op) {
  return static_cast<int>(std::ranges::count_if(model.nodes, [&](const Node& node) { return node.op == op; }));
}

/// Every name is made once and before it is read, and all that is made is read.
void expect_well_formed(const Model& model) {
  std::set<std::string> known{""}, read;
  const auto make = [&](const std::string& name) { EXPECT_TRUE(known.insert(name).second) << name; };
  for (const Port& input : model.inputs) make(input.name);
  for (const Constant& constant : model.constants) make(constant.name);
  for (const Node& node : model.nodes) {
    for (const std::string& input : node.inputs) {
      EXPECT_TRUE(known.contains(input)) << node.name << " reads " << input;
      read.insert(input);
    }
    for (const std::string& output : node.outputs) make(output);
  }
  for (const Port& output : model.outputs) {
    EXPECT_TRUE(known.contains(output.name)) << output.name;
    read.insert(output.name);
  }
  for (const Constant& constant : model.constants) EXPECT_TRUE(read.contains(constant.name)) << constant.name;
}

const Constant& constant(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.constants, name, &Constant::name);
  EXPECT_NE(found, model.constants.end()) << name;
  return *found;
}

std::vector<float> floats_of(const Constant& constant) {
  std::vector<float> values(constant.bytes.size() / sizeof(float));
  std::memcpy(values.data(), constant.bytes.data(), constant.bytes.size());
  return values;
}

std::string refusal(const Graph& graph) {
  try {
    model_of(graph);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Graph image_chain() {
  Builder b("chain");
  int x = b.input("image", {8, 8, 8, 2});
  x = b.add("Conv3D", "conv_1", {x}, {{"filters", 3}, {"kernel_size", 3}, {"activation", "relu"}});
  x = b.add("BatchNormalization", "norm", {x});
  x = b.add("ZeroPadding3D", "pad", {x}, {{"padding", 1}});
  x = b.add("Dropout", "dropout", {x}, {{"rate", 0.5}});
  x = b.add("Conv3D", "conv_2", {x}, {{"filters", 2}, {"kernel_size", 2}});
  x = b.add("LeakyReLU", "leaky", {x});
  x = b.add("MaxPooling3D", "pool", {x}, {{"pool_size", 2}});
  return b.finish({x});
}

TEST(WriteOnnx, AChainOfConvolutionsIsTransposedAtItsEndsOnly) {
  const Model model = model_of(image_chain());
  expect_well_formed(model);
  EXPECT_EQ(count(model, "Transpose"), 2);
  EXPECT_EQ(model.nodes.front().op, "Transpose");
  EXPECT_EQ(model.nodes.back().op, "Transpose");
  EXPECT_EQ(model.inputs.at(0).name, "image");
  EXPECT_EQ(model.outputs.at(0).name, "pool");
  EXPECT_EQ(model.outputs.at(0).shape, (Shape{3, 3, 3, 2}));
}

TEST(WriteOnnx, KernelsHaveTheChannelsInFront) {
  Builder b("one");
  const int x = b.input("x", {4, 2});
  const Graph graph = b.finish({b.add("Conv1D", "conv", {x}, {{"filters", 3}, {"kernel_size", 2}})});
  const Model model = model_of(graph);
  const Constant& kernel = constant(model, "conv/kernel/out_first");
  EXPECT_EQ(kernel.shape, (Shape{3, 2, 2}));
  // Keras's element (cell, in, out) is 1 + 6 cell + 3 in + out.
  EXPECT_EQ(floats_of(kernel), (std::vector<float>{1, 7, 4, 10, 2, 8, 5, 11, 3, 9, 6, 12}));
}

TEST(WriteOnnx, GatesOfAnLstmAreInOnnxsOrder) {
  Builder b("lstm");
  const Graph graph = b.finish({b.add("LSTM", "lstm", {b.input("x", {5, 1})}, {{"units", 1}})});
  const Model model = model_of(graph);
  expect_well_formed(model);
  EXPECT_EQ(count(model, "LSTM"), 1);
  // Keras: input 1, forget 2, candidate 3, output 4.
  EXPECT_EQ(floats_of(constant(model, "lstm/kernel/gates_first")), (std::vector<float>{1, 4, 2, 3}));
  EXPECT_EQ(floats_of(constant(model, "lstm/bias/gates_first")), (std::vector<float>{1, 4, 2, 3, 0, 0, 0, 0}));
}

TEST(WriteOnnx, MaskedStepsAreMovedTogetherAndUnreadMasksLeftOut) {
  const auto make = [](bool sequences, const char* op) {
    Builder b("masked");
    const int x = b.add("Masking", "mask", {b.input("x", {5, 3})});
    return model_of(b.finish({b.add(op, "last", {x}, {{"units", 2}, {"return_sequences", sequences}})}));
  };
  const Model gru = make(false, "GRU");
  expect_well_formed(gru);
  EXPECT_EQ(count(gru, "TopK"), 1);
  EXPECT_EQ(count(gru, "CumSum"), 0);
  EXPECT_EQ(count(make(true, "GRU"), "CumSum"), 1);

  Builder b("joined");
  const int x = b.add("Masking", "mask", {b.input("x", {5, 3})}), y = b.add("Masking", "other", {b.input("y", {5, 3})});
  const Model joined = model_of(b.finish({b.add("Concatenate", "both", {x, y})}));
  expect_well_formed(joined);
  EXPECT_EQ(count(joined, "Expand"), 0);  // the mask of what is joined
}

TEST(WriteOnnx, AnotherCallOfALayerReadsTheSameConstants) {
  Builder b("shared");
  const int x = b.input("x", {3}), y = b.input("y", {3});
  const int first = b.add("Dense", "dense", {x}, {{"units", 3}});
  const int sum = b.add("Add", "sum", {first, b.add("Dense", "dense_again", {y}, {{"units", 3}})});
  Graph graph = b.finish({sum, first, sum});
  graph.nodes[3].shares = first;
  graph::infer_shapes(graph);
  const Model model = model_of(graph);
  expect_well_formed(model);
  EXPECT_EQ(model.constants.size(), 2U);
  ASSERT_EQ(model.outputs.size(), 2U);  // one that is named twice is written once
  EXPECT_EQ(model.outputs[0].name, "sum");
  EXPECT_EQ(model.outputs[1].name, "dense");
}

TEST(WriteOnnx, OutputsThatAreInputsOrOfOneTensorAreDistinct) {
  Builder b("same");
  const int x = b.input("x", {3}), y = b.add("Activation", "tanh", {x}, {{"activation", "tanh"}});
  const Model model = model_of(b.finish({y, b.add("Dropout", "dropout", {y}, {{"rate", 0.5}}), x}));
  expect_well_formed(model);
  ASSERT_EQ(model.outputs.size(), 3U);
  EXPECT_EQ(model.outputs[1].name, "dropout");
  EXPECT_EQ(count(model, "Identity"), 2);
}

TEST(WriteOnnx, UpSamplingBeforeAConvolutionIsFolded) {
  Builder b("up");
  const int x = b.add("UpSampling3D", "up", {b.input("x", {3, 3, 3, 2})}, {{"size", {4, 4, 4}}});
  const Model model = model_of(b.finish({b.add("Conv3D", "conv", {x}, {{"filters", 5}, {"kernel_size", 4}})}));
  expect_well_formed(model);
  EXPECT_EQ(count(model, "Resize"), 0);
  // 64 phases of 5 filters; of 4 taps that start in a block of 4 cells, all are in this one or the next.
  EXPECT_EQ(constant(model, "conv/kernel/folded").shape, (Shape{320, 2, 2, 2, 2}));
  const auto folded = floats_of(constant(model, "conv/kernel/folded"));
  EXPECT_EQ(std::accumulate(folded.begin(), folded.end(), 0.0), 64 * 640.0 * 641 / 2);
}

TEST(WriteOnnx, RefusesByTheLayersName) {
  Builder heads("heads");
  const Graph sum =
      heads.finish({heads.add("ShowerSum", "energy", {heads.input("x", {2, 2, 2, 1})}, {{"power", 0.85}})});
  EXPECT_NE(refusal(sum).find("layer 'energy' (ShowerSum) cannot be written"), std::string::npos) << refusal(sum);
  Builder b("gru");
  const Graph gru = b.finish({b.add("GRU", "odd", {b.input("x", {5, 3})}, {{"units", 2}, {"activation", "gelu"}})});
  EXPECT_NE(refusal(gru).find("layer 'odd' (GRU): ONNX's recurrent operators have no activation 'gelu'"),
            std::string::npos)
      << refusal(gru);
}

TEST(WriteOnnx, SaysWhatToDoBeforeTorchExport) {
  const auto said = [](const char* target) {
    pt2::WeightedProgram program;
    program.program.nodes.push_back({.target = target, .inputs = {}, .outputs = {}, .where = "node 0"});
    return message_of(ErrorCode::kUser, [&] { write_onnx(program, "never.onnx", {}); });
  };
  EXPECT_NE(said("torch.ops.aten.native_dropout.default").find("model.eval()"), std::string::npos);
  EXPECT_NE(said("torch.ops.aten._native_batch_norm_legit.no_stats").find("model.eval()"), std::string::npos);
  EXPECT_EQ(said("torch.ops.aten.gru.input").find("model.eval()"), std::string::npos);
}

TEST(WriteOnnx, HasEveryLayerOfTheGraphButTheHeadsAndWhatIsMadeToRun) {
  const std::set<std::string> without{"InputLayer", "ShowerAngle", "ShowerSum",  "ConvolutionChain", "StepMask",
                                      "PartHalo",   "PartSlice",   "PartGather", "PartJoin"};
  for (const std::string& name : graph::layer_names()) {
    const graph::Node node{.name = "a", .op = name, .attributes = {}, .inputs = {}, .output = {}, .weights = {}};
    if (without.contains(name))
      EXPECT_THROW(layer_function(node), Error) << name;
    else
      EXPECT_NO_THROW(layer_function(node)) << name;
  }
}

std::map<uint32_t, std::vector<std::string>> fields_of(std::string_view bytes) {
  std::map<uint32_t, std::vector<std::string>> fields;
  proto::Reader reader({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  while (const auto field = reader.next()) {
    fields[field->number].push_back(field->type == proto::WireType::kBytes ? std::string(field->text())
                                                                           : std::to_string(field->bits));
  }
  return fields;
}

TEST(WriteOnnx, TheFileHasAFreeBatchAndItsMetadata) {
  const TemporaryFolder folder;
  const Graph graph = image_chain();
  const auto weights = counting_weights(graph);
  const auto path = folder.path() / "chain.onnx";
  write_onnx(graph, weights, path, {{"power", "0.85"}});
  const std::string bytes = read_file(path);
  EXPECT_EQ(bytes, encode(to_onnx(graph, weights, {{"power", "0.85"}})));
  auto model = fields_of(bytes);
  EXPECT_EQ(model[1].at(0), "8");                           // format version
  EXPECT_EQ(fields_of(model[8].at(0))[2].at(0), "17");      // operator set
  EXPECT_EQ(fields_of(model[14].at(0))[1].at(0), "power");  // metadata
  EXPECT_EQ(fields_of(model[14].at(0))[2].at(0), "0.85");
  auto input = fields_of(fields_of(model[7].at(0))[11].at(0));
  EXPECT_EQ(input[1].at(0), "image");
  auto dimensions = fields_of(fields_of(fields_of(input[2].at(0))[1].at(0))[2].at(0))[1];
  ASSERT_EQ(dimensions.size(), 5U);
  EXPECT_EQ(fields_of(dimensions[0])[2].at(0), "batch");
  EXPECT_EQ(fields_of(dimensions[1])[1].at(0), "8");
}

TEST(Permute, MovesAxes) {
  const std::vector<float> x{0, 1, 2, 3, 4, 5};  // (2, 3)
  EXPECT_EQ(permute(x, {2, 3}, {1, 0}), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(permute(x, {1, 2, 3}, {2, 0, 1}), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(permute(x, {2, 3}, {0, 1}), x);
}

}  // namespace
}  // namespace linac::onnx
