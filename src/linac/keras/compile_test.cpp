#include "linac/keras/compile.h"

#include <gtest/gtest.h>

namespace linac::keras {
namespace {

using nlohmann::json;

graph::Graph with_outputs(const std::vector<std::string>& names) {
  graph::Graph graph;
  for (const std::string& name : names) {
    graph::Node node;
    node.name = name;
    graph.outputs.push_back(static_cast<int>(graph.nodes.size()));
    graph.nodes.push_back(node);
  }
  return graph;
}

MetricNames metrics(const char* text, const std::vector<std::string>& outputs) {
  return compiled_metrics({{"metrics", json::parse(text)}}, "metrics", with_outputs(outputs));
}

TEST(CompiledMetrics, KnowWhichOutputTheyAreOf) {
  const MetricNames one{{"accuracy", "mse"}}, each{{"accuracy"}, {"mse"}}, all{{"accuracy"}, {"accuracy"}};
  EXPECT_EQ(metrics(R"(["accuracy", "mse"])", {"a"}), one);
  EXPECT_EQ(metrics(R"([["accuracy", "mse"]])", {"a"}), one);
  EXPECT_EQ(metrics(R"({"a": ["accuracy", "mse"]})", {"a"}), one);
  EXPECT_EQ(metrics(R"(["accuracy", "mse"])", {"a", "b"}), each);
  EXPECT_EQ(metrics(R"([["accuracy"], ["mse"]])", {"a", "b"}), each);
  EXPECT_EQ(metrics(R"({"b": "mse", "a": ["accuracy"]})", {"a", "b"}), each);
  EXPECT_EQ(metrics(R"(["accuracy"])", {"a", "b"}), all) << "of another length: for each output";
  EXPECT_EQ(metrics(R"({"b": {"class_name": "MeanSquaredError", "config": {}}})", {"a", "b"}),
            (MetricNames{{}, {"mean_squared_error"}}));
  EXPECT_TRUE(metrics("null", {"a"}).empty());
  EXPECT_EQ(metrics("[null]", {"a"}), MetricNames{{}}) << "what has no name is left out";
}

TEST(CompileConfig, OfKeras2IsReadAsItWasMeant) {
  const graph::Graph graph = with_outputs({"a", "b"});
  const json old{{"optimizer_config", {{"class_name", "Custom>AdamW"}, {"config", {{"learning_rate", 0.5}}}}},
                 {"metrics", {"accuracy", "mse"}},
                 {"weighted_metrics", {{"accuracy"}, {"mse"}}}};
  const json config = modern_compile_config(old, graph);
  EXPECT_EQ(compiled_optimizer(config)->name, "adamw");
  EXPECT_EQ(compiled_metrics(config, "metrics", graph), (MetricNames{{"accuracy", "mse"}, {"accuracy", "mse"}}));
  EXPECT_EQ(compiled_metrics(config, "weighted_metrics", graph), (MetricNames{{"accuracy"}, {"mse"}}));
  EXPECT_TRUE(modern_compile_config(nullptr, graph).is_null());
}

TEST(CompiledMetrics, OfAFunctionHaveItsName) {
  // "accuracy" and "mse", as .h5 files of Keras 2 have them of two outputs.
  const char* const written = R"([[{"class_name": "MeanMetricWrapper", "config":
      {"name": "a_accuracy", "dtype": "float32", "fn": "categorical_accuracy"}}], [{"class_name": "MeanMetricWrapper",
      "config": {"name": "b_mse", "dtype": "float32", "fn": "mean_squared_error"}}]])";
  EXPECT_EQ(metrics(written, {"a", "b"}), (MetricNames{{"categorical_accuracy"}, {"mean_squared_error"}}));
  EXPECT_EQ(metrics(R"([{"class_name": "MeanMetricWrapper", "config": {"name": "own"}}])", {"a"}), MetricNames{{}})
      << "a function without a name is left out";
}

TEST(CompiledMetrics, WithSettingsThatLinacDoesNotComputeAreNotTakenForTheirName) {
  EXPECT_EQ(metrics(R"([{"class_name": "Precision", "config": {"thresholds": null, "top_k": null}}])", {"a"}),
            MetricNames{{"precision"}});
  EXPECT_EQ(metrics(R"([{"class_name": "Recall", "config": {"thresholds": 0.5}}])", {"a"}), MetricNames{{"recall"}});
  EXPECT_EQ(metrics(R"([{"class_name": "Recall", "config": {"thresholds": 0.3}}])", {"a"}),
            MetricNames{{"recall (thresholds = 0.3)"}});
  EXPECT_EQ(metrics(R"(["f1_score"])", {"a"}), MetricNames{{"f1_score (average = null)"}}) << "a list by classes";
}

TEST(CompileConfig, TellsTheMetricsOfEachOutput) {
  const graph::Graph graph = with_outputs({"a", "b"});
  const MetricNames names{{"accuracy", "f1_score", "recall"}, {}}, weighted{{}, {"mean_squared_error"}};
  const json config = compile_config({.losses = {"huber", "huber"},
                                      .loss_weights = {},
                                      .metrics = names,
                                      .weighted_metrics = weighted,
                                      .optimizer = std::nullopt},
                                     graph);
  EXPECT_EQ(compiled_metrics(config, "metrics", graph), names);
  EXPECT_EQ(compiled_metrics(config, "weighted_metrics", graph), weighted);
}

TEST(CompileConfig, WithoutAnOptimizerThatKerasHasLeavesItToKeras) {
  const graph::Graph graph = with_outputs({"a"});
  Compilation compilation{
      .losses = {"huber"}, .loss_weights = {}, .metrics = {}, .weighted_metrics = {}, .optimizer = std::nullopt};
  EXPECT_FALSE(compile_config(compilation, graph).contains("optimizer"));
  compilation.optimizer = WrittenOptimizer{"AdamW", {{"learning_rate", 0.5}}};
  const auto read = compiled_optimizer(compile_config(compilation, graph));
  EXPECT_EQ(read->name, "adamw");
  EXPECT_EQ(read->config["learning_rate"], 0.5);
}

}  // namespace
}  // namespace linac::keras
