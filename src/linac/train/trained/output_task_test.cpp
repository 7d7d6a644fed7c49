#include "linac/train/trained/output_task.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace linac::trained {
namespace {

using nlohmann::json;
using scores::Task;

// Layers one behind the other; the last is the output.
struct Layer {
  std::string op;
  json attributes = json::object();
  graph::Shape output = {3};
};

TrainedModel model_of(const std::vector<Layer>& layers) {
  TrainedModel model{.network = nullptr, .notes = nullptr, .graph = {}, .compile = nullptr};
  for (size_t i = 0; i < layers.size(); ++i) {
    graph::Node node;
    node.name = "layer " + std::to_string(i);
    node.op = layers[i].op;
    node.attributes = layers[i].attributes;
    if (i > 0) node.inputs = {static_cast<int>(i) - 1};
    node.output = layers[i].output;
    model.graph.nodes.push_back(std::move(node));
  }
  model.graph.outputs = {static_cast<int>(layers.size()) - 1};
  return model;
}

Layer dense(const char* activation, graph::Shape output = {3}) {
  return {"Dense", {{"activation", activation}}, std::move(output)};
}

TEST(OutputTask, IsThatOfTheLoss) {
  const auto task = [](const char* loss, const Layer& layer) {
    TrainedModel model = model_of({layer});
    model.compile = {{"loss", loss}};
    const OutputTask found = output_tasks(model).at(0);
    EXPECT_EQ(found.assumed, "");
    EXPECT_FALSE(found.logits);
    return found.task;
  };
  EXPECT_EQ(task("sparse_categorical_crossentropy", dense("softmax")), Task::kClasses);
  EXPECT_EQ(task("categorical_focal_crossentropy", dense("softmax")), Task::kClasses);
  EXPECT_EQ(task("binary_crossentropy", dense("sigmoid", {1})), Task::kClasses);
  EXPECT_EQ(task("binary_crossentropy", dense("sigmoid", {7, 1})), Task::kClasses) << "of each step";
  EXPECT_EQ(task("binary_crossentropy", dense("sigmoid")), Task::kLabels);
  EXPECT_EQ(task("binary_crossentropy", dense("softmax")), Task::kClasses);
  EXPECT_EQ(task("mean_squared_error", dense("softmax")), Task::kRegression);
  EXPECT_EQ(task("categorical_hinge", dense("linear")), Task::kRegression);
}

TEST(OutputTask, OfAJobIsThatOfItsFile) {
  TrainedModel model = model_of({dense("linear")});
  const auto job = [](const char* fit) {
    return fmt::format(
        "{{model: {{kind: keras, file: a.keras}}, data: {{train: [a.h5], targets: [{{column: y}}]}}, train: {{fit: "
        "{}}}}}",
        fit);
  };
  model.notes = {{"job", job("{loss: [binary_crossentropy], from_logits: true}")}};
  EXPECT_EQ(output_tasks(model).at(0).task, Task::kLabels);
  EXPECT_TRUE(output_tasks(model).at(0).logits);
  model.compile = {{"loss", "categorical_crossentropy"}};
  EXPECT_EQ(output_tasks(model).at(0).task, Task::kClasses) << "the job has other outputs, too, perhaps";
  EXPECT_TRUE(output_tasks(model).at(0).logits) << "of which the file says nothing";
  model.compile = nullptr;
  model.notes["job"] = job("{loss: [output]}");
  EXPECT_NE(output_tasks(model).at(0).assumed, "") << "that is no loss of a target";
}

TEST(OutputTask, OfAFileKnowsItsLogits) {
  TrainedModel model = model_of({dense("linear")});
  model.compile = {{"loss", {{"class_name", "CategoricalCrossentropy"}, {"config", {{"from_logits", true}}}}}};
  EXPECT_TRUE(output_tasks(model).at(0).logits);
  EXPECT_EQ(output_tasks(model).at(0).task, Task::kClasses);
}

TEST(OutputTask, IsAssumedByTheLastActivation) {
  const auto found = [](const std::vector<Layer>& layers) { return output_tasks(model_of(layers)).at(0); };
  EXPECT_EQ(found({dense("softmax")}).task, Task::kClasses);
  EXPECT_EQ(found({dense("softmax")}).assumed,
            "'layer 0' is taken for classes, by its last activation, softmax; --task says another");
  EXPECT_EQ(found({dense("sigmoid")}).task, Task::kLabels);
  EXPECT_EQ(found({dense("sigmoid", {1})}).task, Task::kClasses);
  EXPECT_EQ(found({dense("relu")}).task, Task::kRegression);
  EXPECT_EQ(found({dense("relu"), dense("linear")}).task, Task::kRegression);
  EXPECT_EQ(found({dense("linear"), {"Softmax"}}).task, Task::kClasses);
  EXPECT_EQ(found({dense("sigmoid", {1, 3}), {"Reshape"}}).task, Task::kLabels);
  EXPECT_EQ(found({{"Activation", {{"activation", "softmax"}}}, {"Activation", {{"activation", "linear"}}}}).task,
            Task::kClasses);
  const json inner{{"op", "Dense"}, {"attributes", {{"activation", "softmax"}}}};
  EXPECT_EQ(found({{"TimeDistributed", {{"layer", inner}}, {5, 3}}}).task, Task::kClasses);
  EXPECT_EQ(found({{graph::kForeignModule}}).task, Task::kClasses);
  EXPECT_NE(found({{graph::kForeignModule}}).assumed, "");
}

}  // namespace
}  // namespace linac::trained
