#include "linac/model/graph/layers.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/image.h"
#include "linac/model/graph/masks.h"

namespace linac::graph {
namespace {

Shape output_of(const Shape& input, const std::string& op, const nlohmann::json& attributes) {
  Builder b("one");
  const int x = b.input("x", input);
  const int y = b.add(op, "y", {x}, attributes);
  return b.finish({y}).nodes[static_cast<size_t>(y)].output;
}

std::string refusal(const Shape& input, const std::string& op, const nlohmann::json& attributes) {
  try {
    const Shape output = output_of(input, op, attributes);
    return "accepted as " + to_string(output);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    return error.what();
  }
}

TEST(Reshape, FindsTheOpenExtent) {
  EXPECT_EQ(output_of({4, 6}, "Reshape", {{"target_shape", {2, -1, 3}}}), (Shape{2, 4, 3}));
  EXPECT_EQ(output_of({4, 6}, "Reshape", {{"target_shape", {-1}}}), (Shape{24}));
}

TEST(Reshape, RefusesWhatDoesNotDivide) {
  EXPECT_NE(refusal({4, 6}, "Reshape", {{"target_shape", {-1, 5}}}).find("cannot make (4, 5)"), std::string::npos);
  EXPECT_NE(refusal({4, 6}, "Reshape", {{"target_shape", {-1, -1, 2}}}).find("cannot make"), std::string::npos);
  EXPECT_NE(refusal({4, 6}, "Reshape", {{"target_shape", {-1, 0}}}).find("cannot make"), std::string::npos);
  // 2^62 * 4 * 24 is 0 modulo 2^64.
  EXPECT_NE(refusal({4, 6}, "Reshape", {{"target_shape", {int64_t{1} << 62, 4, 24}}}).find("cannot make"),
            std::string::npos);
}

TEST(Shapes, TooLargeIsRefusedBeforeItOverflows) {
  const int64_t large = int64_t{1} << 22;
  EXPECT_NE(refusal({large, large}, "Flatten", {}).find("'x'"), std::string::npos);
  EXPECT_NE(refusal({large}, "Dense", {{"units", large}}).find("too large weight 'kernel'"), std::string::npos);
  EXPECT_NE(refusal({4}, "Dense", {{"units", int64_t{1} << 40}}).find("'units' must be in 1 to"), std::string::npos);
  EXPECT_NE(refusal({4}, "Dense", {{"units", 0}}).find("'units'"), std::string::npos);
  const nlohmann::json sizes{{"size", {large, large, large}}};
  EXPECT_NE(refusal({9, 9, 9, 1}, "UpSampling3D", sizes).find("too large output"), std::string::npos);
  const nlohmann::json filters{{"filters", large}, {"kernel_size", large}, {"padding", "same"}};
  EXPECT_NE(refusal({9, 9, 9, 1}, "Conv3D", filters).find("too large weight"), std::string::npos);
}

std::string refusal(Builder& b, int output) {
  try {
    b.finish({output});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    return error.what();
  }
  return "accepted";
}

TEST(Parts, HaveTheShapesOfTheirOutputs) {
  Builder b("parts");
  const int lstm = b.add("LSTM", "lstm", {b.input("x", {7, 4})}, {{"units", 5}, {"return_state", true}});
  const int cell = b.add(kPart, "cell", {lstm}, {{"index", 2}});
  const int split = b.add("ops.Split", "split", {cell}, {{"indices_or_sections", {1, 3}}, {"axis", -1}});
  const int end = b.add(kPart, "end", {split}, {{"index", 2}});
  const int middle = b.add(kPart, "middle", {split}, {{"index", 1}});
  const Graph graph = b.finish({split, middle, end});
  EXPECT_EQ(graph.nodes[static_cast<size_t>(cell)].output, (Shape{5}));
  EXPECT_EQ(graph.nodes[static_cast<size_t>(split)].output, (Shape{1}));
  EXPECT_EQ(graph.nodes[static_cast<size_t>(middle)].output, (Shape{2}));
  EXPECT_EQ(graph.nodes[static_cast<size_t>(end)].output, (Shape{2}));
}

TEST(Parts, OfWhatIsNotThereAreRefused) {
  const auto part_of = [](const nlohmann::json& layer, const nlohmann::json& index) {
    Builder b("parts");
    const int gru = b.add("GRU", "gru", {b.input("x", {7, 4})}, layer);
    return refusal(b, b.add(kPart, "part", {gru}, {{"index", index}}));
  };
  const nlohmann::json one{{"units", 5}}, two{{"units", 5}, {"return_state", true}};
  EXPECT_EQ(part_of(two, 1), "accepted");
  EXPECT_NE(part_of(one, 1).find("'gru' (GRU) has one output, and output 1 is read"), std::string::npos);
  EXPECT_NE(part_of(two, 2).find("has 2 outputs, and output 2 is read"), std::string::npos);
  for (const nlohmann::json& odd : {nlohmann::json(0), nlohmann::json(-1), nlohmann::json("1"), nlohmann::json()})
    EXPECT_NE(part_of(two, odd).find("'index' must be 1 or more"), std::string::npos);
  nlohmann::json regularized = two;
  regularized["activity_regularizer"] = {{"l1", 0.1}};
  EXPECT_NE(part_of(regularized, 1).find("of several outputs"), std::string::npos);
}

TEST(Parts, OperationsRefuseWhatDoesNotFit) {
  const auto split = [](const nlohmann::json& at) {
    return refusal({6, 4}, "ops.Split", {{"indices_or_sections", at}, {"axis", 1}});
  };
  EXPECT_NE(split(4).find("cannot split 6 cells into 4"), std::string::npos);
  EXPECT_NE(split(nlohmann::json::array()).find("accepted as (6, 4)"), std::string::npos);
  for (const char* at : {"[2, 2]", "[0]", "[6]", "[-1]", "[4, 2]", "[1.5]", "[null]"})
    EXPECT_NE(split(nlohmann::json::parse(at)).find("cannot split 6 cells at"), std::string::npos) << at;
  EXPECT_NE(split("x").find("must be an integer"), std::string::npos);
  EXPECT_NE(refusal({6, 4}, "ops.Split", {{"indices_or_sections", 2}, {"axis", 0}}).find("0 is the batch"),
            std::string::npos);
  EXPECT_NE(refusal({1 << 15, 4}, "ops.Unstack", {{"axis", 1}}).find("makes 32768 outputs"), std::string::npos);
  EXPECT_NE(refusal({6, 4}, "ops.Unstack", {{"axis", 1}, {"num", 5}}).find("'num' must be 6"), std::string::npos);
  EXPECT_NE(refusal({6, 4}, "ops.TopK", {{"k", 5}}).find("cannot take the 5 largest"), std::string::npos);
}

TEST(InitialStates, MustFit) {
  const auto with_states = [](const std::string& op, std::vector<Shape> shapes) {
    Builder b("states");
    std::vector<int> inputs{b.input("x", {7, 4})};
    for (size_t i = 0; i < shapes.size(); ++i) inputs.push_back(b.input("s" + std::to_string(i), shapes[i]));
    return refusal(b, b.add(op, "layer", inputs, {{"units", 5}}));
  };
  EXPECT_EQ(with_states("LSTM", {}), "accepted");
  EXPECT_EQ(with_states("LSTM", {{5}, {5}}), "accepted");
  EXPECT_NE(with_states("LSTM", {{5}}).find("a sequence and 2 initial states, or none, and has 2 inputs"),
            std::string::npos);
  EXPECT_NE(with_states("GRU", {{4}}).find("its initial state 1 has the shape (4) and not (5)"), std::string::npos);
}

TEST(Masks, AreKnownWithoutARun) {
  Builder b("masks");
  const int x = b.input("x", {7, 4});
  const int masked = b.add("Masking", "masked", {x});
  const int sequence = b.add("GRU", "sequence", {masked}, {{"units", 5}, {"return_sequences", true}});
  const int last = b.add("GRU", "last", {sequence}, {{"units", 5}});
  const int joined = b.add("Add", "joined", {sequence, b.add("Dense", "dense", {x}, {{"units", 5}})});
  const int beside = b.add("Concatenate", "beside", {sequence, x}, {{"axis", -1}});
  const Graph graph = b.finish({last, joined, beside});
  for (const int node : {masked, sequence, beside}) EXPECT_TRUE(has_mask(graph, node)) << node;
  for (const int node : {x, last, joined}) EXPECT_FALSE(has_mask(graph, node)) << node;
}

TEST(Images, AreCutAndResized) {
  EXPECT_EQ(output_of({7, 8, 2}, "CenterCrop", {{"height", 4}, {"width", 5}}), (Shape{4, 5, 2}));
  EXPECT_EQ(output_of({7, 8, 2}, "Resizing", {{"height", 70}, {"width", 1}}), (Shape{70, 1, 2}));
  Node node;
  node.name = "fit";
  node.op = "CenterCrop";
  node.attributes = {{"height", 4}, {"width", 5}};
  using Margins = std::array<std::array<int64_t, 2>, 2>;
  EXPECT_EQ(image_fit(node, {7, 8, 2}).margins, (Margins{{{-1, -2}, {-1, -2}}}));
  node.attributes = {{"height", 10}, {"width", 5}};  // more than there is: the middle of that ratio, to be enlarged
  EXPECT_EQ(image_fit(node, {6, 8, 2}).margins, (Margins{{{0, 0}, {-2, -3}}}));
  node.op = "Resizing";
  node.attributes = {{"height", 5}, {"width", 5}, {"pad_to_aspect_ratio", true}};
  EXPECT_EQ(image_fit(node, {4, 9, 2}).margins, (Margins{{{2, 2}, {0, 0}}}));
  EXPECT_EQ(nearest_cells(7, 3), (std::vector<int64_t>{1, 3, 5}));
}

TEST(Images, WhatDoesNotFitIsRefused) {
  const auto names = [](const std::string& op, const nlohmann::json& attributes, const char* words) {
    const std::string message = refusal({6, 5, 2}, op, attributes);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  names("RandomFlip", {{"mode", "diagonal"}}, "mode 'diagonal'");
  names("RandomRotation", nlohmann::json::object(), "'factor' must be");
  names("RandomRotation", {{"factor", 1.5}}, "'factor' must be");
  names("RandomRotation", {{"factor", 0.5}, {"fill_mode", "mirror"}}, "fill_mode 'mirror'");
  names("RandomTranslation", {{"height_factor", 0.5}}, "'width_factor' must be");
  names("RandomTranslation", {{"height_factor", {0.5, "x"}}, {"width_factor", 0}}, "'height_factor' must be");
  names("RandomZoom", {{"height_factor", -1.0}}, "must be above -1");
  names("RandomZoom", {{"height_factor", 0.1}, {"interpolation", "bicubic"}}, "interpolation 'bicubic'");
  names("RandomContrast", {{"factor", {-0.5, 0.5}}}, "'factor' must be");
  names("RandomBrightness", {{"factor", 0.5}, {"value_range", {1, 0}}}, "'value_range' must be");
  names("Resizing", {{"height", 3}, {"width", 3}, {"interpolation", "area"}}, "interpolation 'area'");
  names("Resizing", {{"height", 3}}, "'width' must be");
  names("Resizing", {{"height", 3}, {"width", 3}, {"crop_to_aspect_ratio", true}, {"pad_to_aspect_ratio", true}},
        "exclude each other");
  const nlohmann::json thin{{"height", int64_t{1} << 22}, {"width", 1}, {"pad_to_aspect_ratio", true}};
  EXPECT_NE(refusal({1, int64_t{1} << 30, 1}, "Resizing", thin).find("too large"), std::string::npos);
  EXPECT_NE(refusal({6, 5}, "RandomFlip", nlohmann::json::object()).find("3 axes"), std::string::npos);
}

nlohmann::json slice(const nlohmann::json& start, const nlohmann::json& stop, const nlohmann::json& step = nullptr) {
  return {{"class_name", "__slice__"}, {"config", {{"start", start}, {"stop", stop}, {"step", step}}}};
}

nlohmann::json item(const nlohmann::json& key) {
  return {{"arguments", nlohmann::json::array({nullptr, key})}};
}

TEST(Slices, AreThoseOfPython) {
  const nlohmann::json all = slice(nullptr, nullptr), rest{{"class_name", "__ellipsis__"}};
  EXPECT_EQ(output_of({6, 5}, "ops.GetItem", item({all, slice(1, nullptr)})), (Shape{5, 5}));
  EXPECT_EQ(output_of({6, 5}, "ops.GetItem", item({all, slice(nullptr, nullptr, -2), -1})), (Shape{3}));
  EXPECT_EQ(output_of({6, 5}, "ops.GetItem", item({rest, nullptr, 0})), (Shape{6, 1}));
  EXPECT_EQ(output_of({6, 5}, "ops.GetItem", item(rest)), (Shape{6, 5}));
  EXPECT_EQ(output_of({6}, "ops.GetItem", item({all, 3})), (Shape{}));
  const auto refused = [&](const nlohmann::json& key, const char* words) {
    const std::string message = refusal({6, 5}, "ops.GetItem", item(key));
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  refused({slice(1, nullptr)}, "some events only");
  refused(0, "some events only");
  refused(nlohmann::json::array({nullptr, all}), "some events only");
  refused({all, 6}, "6 is not one of 6 cells");
  refused({all, -7}, "-7 is not one of 6 cells");
  refused({all, slice(3, 3)}, "empty");
  refused({all, slice(0, 3, 0)}, "step 0");
  refused({all, slice(int64_t{1} << 60, nullptr)}, "cannot take the slice");
  refused({all, 0, 0, 0}, "does not fit");
  refused({rest, rest}, "does not fit");
  refused({all, "a"}, "cannot take");
  refused({all, 1.5}, "cannot take");
  EXPECT_NE(refusal({6, 5}, "ops.GetItem", nlohmann::json::object()).find("a key"), std::string::npos);
}

TEST(Operations, NeedTheirArguments) {
  EXPECT_NE(refusal({6}, "ops.Add", nlohmann::json::object()).find("takes 2 arguments and has 1"), std::string::npos);
  EXPECT_NE(refusal({6}, "ops.Where", {{"arguments", {nullptr, 1}}}).find("takes 3"), std::string::npos);
  EXPECT_NE(refusal({6}, "ops.Mod", {{"arguments", {nullptr, nlohmann::json::array({1, 2})}}}).find("only tensors and"),
            std::string::npos);
  EXPECT_NE(refusal({6}, "ops.Gelu", {{"approximate", "yes"}}).find("'approximate'"), std::string::npos);
  EXPECT_EQ(output_of({6}, "ops.Arctan2", {{"arguments", {nullptr, 2.5}}}), (Shape{6}));
}

TEST(Einsum, RefusesWhatItCannotTellTheBatchOf) {
  const auto refused = [&](const char* equation, const char* words) {
    const std::string message = refusal({6, 5}, "ops.Einsum", {{"subscripts", equation}});
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  EXPECT_EQ(output_of({6, 5}, "ops.Einsum", {{"subscripts", "b i j -> b j"}}), (Shape{5}));
  for (const char* equation : {"bij", "b...->b...", "bij->"}) refused(equation, "einsum");
  refused("bi->b", "another number of axes");
  refused("bij,bjk->bik", "another number of inputs");
  refused("bij->ibj", "the batch");
  refused("bbj->bj", "two sizes, or is the batch");
  refused("bij->bk", "'k' is in no input");
}

TEST(Weights, GoWhereTheyStandForAllEvents) {
  const auto build = [](const std::string& op, const nlohmann::json& attributes, bool behind) {
    Builder b("weights");
    const int x = b.input("x", {4, 3});
    const int w = b.add(kTracedWeight, "w", {x}, {{"shape", {1, 3}}});
    const int y = b.add(op, "y", behind ? std::vector<int>{x, w} : std::vector<int>{w}, attributes);
    return b.finish({y}).nodes.back().output;
  };
  EXPECT_EQ(build("ops.Multiply", nlohmann::json::object(), true), (Shape{4, 3}));
  for (const auto& [op, behind] : std::vector<std::pair<std::string, bool>>{
           {"ops.Exp", false}, {"Dense", false}, {"ops.Stack", true}, {"ops.Concatenate", true}, {"Add", true}}) {
    try {
      build(op, {{"units", 2}, {"axis", 1}}, behind);
      ADD_FAILURE() << op << " is accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(op.ends_with("Stack") ? "shapes" : "weights alone"), std::string::npos)
          << op << ": " << error.what();
    }
  }
}

// A class of which masks.cpp says nothing drops its masks, and a model with such a layer computes other numbers than
// Keras's if Keras's has `supports_masking`. So who adds a layer looks there, and adds a line there or a name here.
TEST(Layers, ThoseThatDropMasksAreKnown) {
  std::istringstream known(
      "AveragePooling1D AveragePooling2D AveragePooling3D Bidirectional CenterCrop Conv1D Conv1DTranspose Conv2D "
      "Conv2DTranspose "
      "Conv3D Conv3DTranspose ConvolutionChain Cropping1D Cropping2D Cropping3D DepthwiseConv1D DepthwiseConv2D Dot "
      "EinsumDense Embedding Flatten GRU GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
      "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D InputLayer LSTM MaxPooling1D MaxPooling2D MaxPooling3D "
      "Part PartGather PartHalo PartJoin PartSlice Permute RMSNormalization RandomBrightness RandomContrast RandomFlip "
      "RandomRotation RandomTranslation "
      "RandomZoom "
      "Resizing RepeatVector Reshape SeparableConv1D SeparableConv2D ShowerAngle ShowerSum SimpleRNN "
      "StepMask TracedWeight UpSampling1D UpSampling2D UpSampling3D UpsampleConv3D ZeroPadding1D ZeroPadding2D "
      "ZeroPadding3D");
  const std::set<std::string> dropping{std::istream_iterator<std::string>(known), {}};
  for (const std::string& name : layer_names()) {
    if (name.starts_with("ops.")) continue;  // operations of Keras know no masks
    Node node;
    node.op = name;
    node.attributes = {{"layer", {{"attributes", nlohmann::json::object()}}}};
    EXPECT_EQ(mask_rule(node) == MaskRule::kDrops, dropping.contains(name)) << name;
  }
}

}  // namespace
}  // namespace linac::graph
