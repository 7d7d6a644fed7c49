#include "linac/model/keras/compile.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/base/test_errors.h"

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

// get_config() of keras.losses.Huber(delta=2) of Keras 3.15, and of tf_keras.
TEST(CompiledLosses, SettingsThatKerasLeavesOutAreSaid) {
  const auto remarks = [](const char* loss) { return remarks_on_losses({{"loss", json::parse(loss)}}); };
  const auto silent =
      remarks(R"({"class_name": "Huber", "config": {"name": "huber_loss", "reduction": "sum_over_batch_size"}})");
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_NE(silent[0].find("huber, and Keras's files do not say its delta: 1.0"), std::string::npos) << silent[0];
  EXPECT_EQ(remarks(R"({"a": "mse", "b": {"class_name": "CosineSimilarity", "config": {}}})").size(), 1U);
  EXPECT_TRUE(remarks(R"({"class_name": "Huber", "config": {"delta": 1.0, "fn": "huber"}})").empty());
  EXPECT_TRUE(remarks(R"(["huber", {"class_name": "function", "config": "huber"}, null])").empty());
  EXPECT_TRUE(remarks_on_losses(nullptr).empty());
}

TEST(CompiledLosses, OfAnOutputWithoutOneIsNone) {
  const std::vector<std::string> wanted{"mse", "none"};
  EXPECT_EQ(compiled_losses({{"loss", {"mse", nullptr}}}, with_outputs({"a", "b"})), wanted);
  EXPECT_EQ(compiled_losses({{"loss", {{"a", "mse"}, {"b", nullptr}}}}, with_outputs({"a", "b"})), wanted);
  EXPECT_TRUE(compiled_losses({{"loss", nullptr}}, with_outputs({"a", "b"})).empty());
  const Compilation none{.losses = wanted, .loss_weights = {}, .metrics = {}, .weighted_metrics = {}, .optimizer = {}};
  EXPECT_EQ(compile_config(none, with_outputs({"a", "b"}))["loss"], (json{{"a", "mse"}, {"b", nullptr}}));
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

TEST(CompiledMetrics, OfAllKindsKeepTheirSettings) {
  EXPECT_EQ(metrics(R"([{"class_name": "AUC", "config": {"curve": "PR", "num_thresholds": 200}}])", {"a"}),
            MetricNames{{R"(auc (curve = "PR"))"}});
  EXPECT_EQ(metrics(R"([{"class_name": "AUC", "config": {"curve": "ROC", "num_thresholds": 200}}])", {"a"}),
            MetricNames{{"auc"}});
  EXPECT_EQ(metrics(R"([{"class_name": "BinaryAccuracy", "config": {"threshold": 0.7}}])", {"a"}),
            MetricNames{{"binary_accuracy (threshold = 0.7)"}});
  EXPECT_EQ(metrics(R"([{"class_name": "TopKCategoricalAccuracy", "config": {"k": 3}}])", {"a"}),
            MetricNames{{"top_k_categorical_accuracy (k = 3)"}});
  EXPECT_EQ(
      metrics(R"([{"class_name": "CategoricalCrossentropy", "config": {"label_smoothing": 0, "axis": -1}}])", {"a"}),
      MetricNames{{"categorical_crossentropy"}});
  EXPECT_EQ(metrics(R"(["Recall", "AUC", "MeanSquaredError", "mse"])", {"a"}),
            (MetricNames{{"recall", "auc", "mean_squared_error", "mse"}}))
      << "a text may name a class";
}

TEST(CompiledLosses, AreRefusedWithSettingsThatLinacDoesNotCompute) {
  const auto loss = [](const char* text) {
    try {
      return compiled_losses({{"loss", json::parse(text)}}, with_outputs({"a"})).at(0);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const auto contains = [&](const char* text, const char* part) {
    const std::string found = loss(text);
    return found.find(part) != std::string::npos ? testing::AssertionSuccess() : testing::AssertionFailure() << found;
  };
  EXPECT_EQ(loss(R"("BinaryCrossentropy")"), "binary_crossentropy");
  EXPECT_EQ(loss(R"({"class_name": "Huber", "config": {"delta": 1.0, "reduction": "auto", "fn": "huber"}})"), "huber");
  EXPECT_TRUE(contains(R"({"class_name": "Huber", "config": {"delta": 2.0}})", "(delta = 2.0)")) << "of Keras 2";
  EXPECT_EQ(loss(R"({"class_name": "BinaryFocalCrossentropy", "config": {"gamma": 2.0, "alpha": 0.25}})"),
            "binary_focal_crossentropy");
  EXPECT_TRUE(contains(R"({"class_name": "BinaryFocalCrossentropy", "config": {"gamma": 3.0}})", "(gamma = 3.0)"));
  EXPECT_TRUE(
      contains(R"({"class_name": "MeanSquaredError", "config": {"reduction": "sum"}})", R"((reduction = "sum"))"));
  EXPECT_TRUE(contains(R"({"class_name": "SparseCategoricalCrossentropy", "config": {"ignore_class": 1}})",
                       "(ignore_class = 1)"));
  EXPECT_EQ(loss(R"({"class_name": "BinaryCrossentropy", "config": {"from_logits": true, "label_smoothing": 0.1}})"),
            "binary_crossentropy")
      << "a job has these";
  EXPECT_TRUE(contains(R"({"class_name": "MeanSquaredError", "config": {"from_logits": true}})", "from_logits = true"));
  EXPECT_TRUE(contains(R"({"class_name": "function", "config": "<lambda>"})", "Python code"));
}

TEST(CompiledLosses, HaveOneSettingForAllCrossentropies) {
  const graph::Graph graph = with_outputs({"a", "b", "c"});
  const auto config = [](const char* a, const char* b) {
    return json{{"loss", {{"a", json::parse(a)}, {"b", json::parse(b)}, {"c", "mse"}}}};
  };
  const char* const of_logits = R"({"class_name": "CategoricalCrossentropy", "config": {"from_logits": true}})";
  const char* const sparse = R"({"class_name": "SparseCategoricalCrossentropy", "config": {"from_logits": true}})";
  const char* const smooth = R"({"class_name": "CategoricalCrossentropy",
      "config": {"from_logits": true, "label_smoothing": 0.1}})";
  EXPECT_TRUE(compiled_loss_settings(config(of_logits, sparse), graph).from_logits);
  EXPECT_EQ(compiled_loss_settings(config(smooth, sparse), graph).label_smoothing, 0.1) << "a sparse one has none";
  EXPECT_FALSE(compiled_loss_settings(config("\"mse\"", "\"mse\""), graph).from_logits);
  expect_in(message_of([&] { compiled_loss_settings(config(of_logits, smooth), graph); }),
            {"different label_smoothing", "'b'", "train.fit.label_smoothing"});
  expect_in(message_of([&] { compiled_loss_settings(config(of_logits, "\"binary_crossentropy\""), graph); }),
            {"different from_logits"});

  Compilation written;
  written.losses = {"categorical_crossentropy", "sparse_categorical_crossentropy", "mean_squared_error"};
  written.settings = {.from_logits = true, .label_smoothing = 0.1};
  const json again = compile_config(written, graph);
  EXPECT_EQ(again["loss"]["a"]["class_name"], "CategoricalCrossentropy");
  EXPECT_EQ(again["loss"]["c"], "mean_squared_error");
  EXPECT_TRUE(compiled_loss_settings(again, graph).from_logits);
  EXPECT_EQ(compiled_loss_settings(again, graph).label_smoothing, 0.1);
  EXPECT_EQ(compiled_losses(again, graph), written.losses);
}

TEST(CompiledLosses, AreToldWithTheirLogits) {
  const auto told = [](const char* loss, const std::vector<std::string>& outputs) {
    std::vector<std::string> words;
    for (const ToldLoss& one : told_losses({{"loss", json::parse(loss)}}, with_outputs(outputs)))
      words.push_back(one.name + (one.from_logits ? " of logits" : ""));
    return words;
  };
  using Words = std::vector<std::string>;
  const char* const binary =
      R"({"class_name": "BinaryCrossentropy", "config": {"from_logits": true, "label_smoothing": 0.1}})";
  EXPECT_EQ(told(binary, {"a"}), Words{"binary_crossentropy of logits"});
  EXPECT_EQ(told(binary, {"a", "b"}), (Words{"binary_crossentropy of logits", "binary_crossentropy of logits"}));
  EXPECT_EQ(told(R"("mse")", {"a"}), Words{"mse"});
  EXPECT_EQ(told(R"(["mse", null])", {"a", "b"}), (Words{"mse", ""}));
  EXPECT_EQ(told(R"({"b": "mse"})", {"a", "b"}), (Words{"", "mse"}));
  EXPECT_TRUE(told_losses(nullptr, with_outputs({"a"})).empty());
}

TEST(CompiledOptimizer, OfATextHasKerasDefaults) {
  const auto config = [](const char* name) { return compiled_optimizer({{"optimizer", name}})->config; };
  EXPECT_EQ(config("sgd")["learning_rate"], 0.01);
  EXPECT_EQ(config("SGD")["learning_rate"], 0.01);
  EXPECT_EQ(config("adamw")["weight_decay"], 0.004);
  EXPECT_EQ(config("adadelta")["rho"], 0.95);
  EXPECT_TRUE(config("adam").empty()) << "linac's are the same";
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
