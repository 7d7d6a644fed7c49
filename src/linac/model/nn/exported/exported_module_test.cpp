#include "linac/model/nn/exported/exported_module.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/archive/zip_archive.h"

namespace linac::nn {
namespace {

const std::filesystem::path kPrograms = "tests/peers/pt2";
const std::vector<ForeignInput> kFeatures{{"features", {4}}}, kImage{{"image", {1, 8, 8}}};

class ExportedModules : public testing::Test {
 protected:
  /// The dense program, with something else in its graph.
  std::filesystem::path changed(const std::string& old, const std::string& wanted,
                                const std::string& member = "models/model.json") {
    archive::ZipReader reader(kPrograms / "dense.pt2");
    std::vector<archive::ZipMember> members;
    for (const std::string& name : reader.members()) {
      members.push_back({name, *reader.read(name, 1 << 20)});
      if (!name.ends_with(member)) continue;
      std::string& text = members.back().content;
      const size_t at = text.find(old);
      EXPECT_NE(at, std::string::npos) << old;
      if (at != std::string::npos) text.replace(at, old.size(), wanted);
    }
    const auto path = folder_ / "net.pt2";
    write_file_atomically(path, archive::write_zip(members));
    return path;
  }
  std::string refused(const std::string& old, const std::string& wanted) {
    const auto path = changed(old, wanted);
    const std::string message = message_of([&] { ExportedModule(path, kFeatures); });
    expect_in(message, {path.string()});
    return message;
  }

  TemporaryFolder folder_;
};

std::string error_of(const std::string& name, const std::vector<ForeignInput>& inputs) {
  return message_of([&] { ExportedModule(kPrograms / name, inputs); });
}

TEST_F(ExportedModules, RefuseOperatorsByName) {
  const std::string tanh = "torch.ops.aten.tanh.default";
  expect_in(refused(tanh, "torch.ops.aten.tanhh.default"),
            {"nodes[1]", "has no operator torch.ops.aten.tanhh.default"});
  expect_in(refused(tanh, "torch.ops.aten.tanh"), {"nodes[1]", "is no operator"});
  expect_in(refused(tanh, "torch.ops.mine.tanh.default"), {"torch.ops.mine.tanh.default", "operator of a library"});
  expect_in(refused(tanh, "mine.tanh"), {"mine.tanh is a function that linac does not know"});
  expect_in(refused(tanh, "torch.ops.aten.from_file.default"), {"no operator torch.ops.aten.from_file.default"});
  expect_in(
      refused(
          tanh + R"(", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}})",
          R"(torch.ops.aten.tanh_.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "p_layers_0_weight"}})"),
      {"aten.tanh_.default changes the parameter 'layers.0.weight'"});
}

TEST_F(ExportedModules, RefuseArgumentsThatTheSchemaDoesNotHave) {
  expect_in(refused(R"("name": "self")", R"("name": "other")"), {"aten.tanh.default takes no 'other'"});
  expect_in(refused(R"({"name": "p_layers_0_weight"}}, "kind")", R"({"name": "nobody"}}, "kind")"),
            {"'nobody' is used before it is computed"});
}

TEST_F(ExportedModules, RefuseWeightsThatSharePartOfTheirNumbers) {
  const auto path = changed(R"("path_name": "weight_1")", R"("path_name": "weight_0")", "weights_config.json");
  expect_in(message_of([&] { ExportedModule(path, kFeatures); }),
            {"net.pt2", "'layers.0.weight' and 'layers.0.bias' are different views of the same numbers"});
}

TEST_F(ExportedModules, KeepToTheLargestNumberOfEvents) {
  const ExportedModule module(changed(R"("max_val": null)", R"("max_val": 2)"), kFeatures);
  const auto weights = module.weights(module.parameters(), Gradients::kNone);
  EXPECT_EQ(module.run(weights, {at::ones({1, 4})}, {})[0].size(0), 1);
  EXPECT_EQ(module.run(weights, {at::ones({2, 4})}, {})[0].size(0), 2);
  expect_in(message_of([&] {
              module.run(weights, {at::ones({3, 4})}, {});
            }),
            {"net.pt2", "exported for at most 2 events at once and is given 3"});
}

TEST_F(ExportedModules, RefuseOtherArgumentsOfForward) {
  expect_in(error_of("dense.pt2", {{"features", {5}}}), {"takes events of shape (4), but data.inputs gives (5)"});
  expect_in(error_of("dense.pt2", {{"other", {4}}}), {"forward() takes (features), but data.inputs names (other)"});
  expect_in(error_of("dense.pt2", {{"features", {4}}, {"x", {4}}}), {"data.inputs names (features, x)"});
  expect_in(error_of("broken-events.pt2", kFeatures), {"exported for 2 events alone", "torch.export.Dim"});
  expect_in(error_of("broken-double.pt2", kFeatures), {"'layers.0.weight' is of Double", "model.float()"});
}

// Where a program gives the new statistics back and does not write them in place.
TEST(ExportedModule, ADecomposedProgramComputesTheSame) {
  std::vector<at::Tensor> outputs, gradients;
  std::vector<float> statistics[2];
  for (const char* name : {"convolutions.pt2", "convolutions-decomposed.pt2"}) {
    const ExportedModule module(kPrograms / name, kImage);
    const auto weights = module.weights(module.parameters(), Gradients::kWanted);
    const auto inputs = std::vector{at::arange(128, at::kFloat).view({2, 1, 8, 8}) / 128};
    const RunOptions training{.mode = Mode::kTraining, .batch_statistics = &statistics[outputs.size()]};
    outputs.push_back(module.run(weights, inputs, training)[0]);
    outputs.back().square().sum().backward();
    gradients.push_back(weights.trainable[0].grad());
  }
  EXPECT_TRUE(outputs[0].equal(outputs[1]));
  EXPECT_TRUE(gradients[0].equal(gradients[1]));
  EXPECT_EQ(statistics[0], statistics[1]);
  EXPECT_TRUE(std::any_of(statistics[0].begin(), statistics[0].end(), [](float change) { return change != 0; }));
}

TEST(ExportedModule, DropsByItsKeyAndInTrainingAlone) {
  const ExportedModule module(kPrograms / "convolutions-dropout.pt2", kImage);
  EXPECT_EQ(module.remark(), "");
  const at::NoGradGuard no_gradient;
  const auto weights = module.weights(module.parameters(), Gradients::kNone);
  const auto inputs = std::vector{at::arange(128, at::kFloat).view({2, 1, 8, 8}) / 128};
  const auto before = inputs[0].clone();
  std::vector<float> statistics;
  const auto run = [&](Mode mode, uint64_t seed) {
    return module.run(weights, inputs,
                      {.mode = mode, .dropout_key = {.seed = seed}, .batch_statistics = &statistics})[0];
  };
  EXPECT_TRUE(run(Mode::kTraining, 1).equal(run(Mode::kTraining, 1)));
  EXPECT_FALSE(run(Mode::kTraining, 1).equal(run(Mode::kTraining, 2)));
  EXPECT_TRUE(std::any_of(statistics.begin(), statistics.end(), [](float change) { return change != 0; }));
  EXPECT_TRUE(run(Mode::kInference, 1).equal(run(Mode::kInference, 2)));
  EXPECT_TRUE(inputs[0].equal(before));
  const ExportedModule evaluation(kPrograms / "convolutions-evaluation.pt2", kImage);
  expect_in(evaluation.remark(), {"convolutions-evaluation.pt2", "the 2 layers"});
}

}  // namespace
}  // namespace linac::nn
