#include "linac/physics/report/scores/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "linac/base/base/rng.h"

namespace linac::report {
namespace {

using Json = nlohmann::ordered_json;

// Events of so many classes; a model with `skill` gives the true class more, one after the other.
struct Made {
  std::vector<float> truth, p;
  ScoreReport report;

  Made(size_t classes, size_t models, size_t columns = 0) {
    constexpr size_t kEvents = 300;
    std::vector<float> noise(kEvents * classes);
    fill_normal({.seed = 3}, noise);
    for (size_t event = 0; event < kEvents; ++event) {
      truth.push_back(static_cast<float>(event % classes));
      double sum = 0;
      for (size_t label = 0; label < classes; ++label)
        sum += std::exp(noise[event * classes + label] += label == event % classes ? 1.5F : 0.0F);
      for (size_t label = 0; label < classes; ++label)
        if (columns != 1 || label == 1) p.push_back(static_cast<float>(std::exp(noise[event * classes + label]) / sum));
    }
    const size_t width = columns == 1 ? 1 : classes;
    const scores::Labels labels({.values = truth, .width = 1, .name = "t"}, width, {});
    const std::vector<scores::Predictions> predictions(models, {{.values = p, .width = width, .name = "p"}, labels});
    report.title = "<a> on events";
    report.models = {"one & only", "other"};
    report.models.resize(models);
    report.parts = labels.names();
    report.parts[0] = "<QCD>";
    report.events = kEvents;
    for (size_t label = 0; label < classes; ++label) report.support.push_back(labels.support(label));
    report.replicas = 20;
    report.judgement = scores::judge_classifiers(labels, predictions, {.replicas = 20});
    report.remarks = {"few <events>"};
  }
};

std::vector<std::string> names(const std::vector<NamedPicture>& pictures) {
  std::vector<std::string> result;
  for (const NamedPicture& one : pictures) result.push_back(one.name);
  return result;
}

using Names = std::vector<std::string>;

TEST(ScoreReport, PicturesAreThere) {
  EXPECT_EQ(names(draw(Made(3, 1).report)), (Names{"roc", "rejection", "confusion", "reliability", "scores"}));
  EXPECT_EQ(names(draw(Made(2, 2, 1).report)),
            (Names{"roc", "rejection", "confusion", "confusion-other", "reliability", "reliability-other", "scores"}));
  for (const size_t classes : {5, 17}) {
    for (const NamedPicture& one : draw(Made(classes, 1).report)) {
      EXPECT_TRUE(one.picture.png.starts_with("\x89PNG")) << one.name;
      EXPECT_TRUE(one.picture.width == 2 * kNarrow || one.picture.width == 2 * kWide) << one.name;
      EXPECT_GT(one.picture.png.size(), 5000U) << one.name;
    }
  }
}

TEST(ScoreReport, CurvesOfTwoClassesAreTheSeconds) {
  EXPECT_EQ(Made(2, 1).report.shown_classes(), std::vector<size_t>{1});
  EXPECT_EQ(Made(3, 1).report.shown_classes(), (std::vector<size_t>{0, 1, 2}));
}

TEST(ScoreReport, JsonFollowsItsSchema) {
  const Json json = to_json(Made(3, 2).report);
  EXPECT_EQ(json["task"], "classification");
  EXPECT_EQ(json["support"], Json::array({100, 100, 100}));
  ASSERT_EQ(json["models"].size(), 2U);
  const Json& model = json["models"][0];
  EXPECT_EQ(model["confusion"].size(), 3U);
  EXPECT_EQ(model["classes"][0]["name"], "<QCD>");
  EXPECT_TRUE(model["classes"][0]["roc"]["threshold"][0].is_null()) << "infinite";
  EXPECT_EQ(model["classes"][0]["roc"]["tpr"].back(), 1);
  EXPECT_EQ(model["classes"][1]["distributions"].size(), 3U);
  const Json& band = model["classes"][1]["roc_band"];
  ASSERT_EQ(band["fpr"].size(), band["tpr_low"].size());
  for (size_t i = 0; i < band["fpr"].size(); ++i) EXPECT_LE(band["tpr_low"][i], band["tpr_high"][i]) << i;
  EXPECT_LT(band["tpr_low"][30], band["tpr_high"][30]);
  EXPECT_EQ(json["difference"].size(), model["scores"].size());
  EXPECT_EQ(json["auc_difference_delong_errors"], Json::array({0, 0, 0})) << "both are the same";
  EXPECT_EQ(Json::parse(json.dump()), json);
  EXPECT_FALSE(to_json(Made(3, 1).report).contains("difference"));
}

ScoreReport folds_of(const std::vector<ScoreReport>& reports, bool same_events) {
  std::vector<ScoreReport> folds = reports;
  for (size_t i = 0; i < folds.size(); ++i) {
    folds[i].models = {"fold " + std::to_string(i + 1)};
    folds[i].remarks.push_back("of fold " + std::to_string(i + 1));
  }
  return over_folds(std::move(folds), same_events);
}

TEST(ScoreReport, FoldsHaveTheirMeanAndSpread) {
  ScoreReport one = Made(3, 1).report, other = one;
  for (scores::Score& score : std::get<scores::ClassifierJudgement>(other.judgement).models[0].scores)
    if (score.name == "accuracy") score.estimate.value += 0.1;
  const double accuracy = scores::find(one.scores_of(0), "accuracy")->value;
  const ScoreReport report = folds_of({one, other, one}, false);
  EXPECT_FALSE(folds_of({one, other}, false).compares());
  EXPECT_EQ(report.events, 900);
  EXPECT_EQ(report.support, (std::vector<int64_t>{300, 300, 300}));
  EXPECT_EQ(folds_of({one, other}, true).events, 300);
  EXPECT_EQ(report.remarks,
            (std::vector<std::string>{"few <events>", "fold 1: of fold 1", "fold 2: of fold 2", "fold 3: of fold 3"}));
  const Json json = to_json(report);
  EXPECT_EQ(json["folds"]["events"], Json::array({300, 300, 300}));
  for (const Json& score : json["folds"]["scores"]) {
    if (score["name"] != "accuracy") continue;
    EXPECT_NEAR(score["mean"], accuracy + 0.1 / 3, 1e-12);
    EXPECT_NEAR(score["deviation"], 0.1 / std::sqrt(3), 1e-12);
  }
  EXPECT_EQ(json["models"].size(), 3U);
  EXPECT_EQ(json["folds"]["classes"][1]["roc"]["tpr_deviation"][30], 0) << "the folds have the same curve";
  EXPECT_FALSE(json.contains("difference"));
  EXPECT_EQ(names(draw(report)), (Names{"roc", "rejection", "confusion"}));
  for (const std::string& text : {to_text(report), to_html(report, {})})
    for (const char* wanted : {"mean of 3", "fold 2"}) EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
}

TEST(ScoreReport, AFigureThatAFoldLacksHasNoMean) {
  ScoreReport one = Made(3, 1).report, other = one;
  for (scores::Score& score : std::get<scores::ClassifierJudgement>(other.judgement).models[0].scores) {
    if (score.name == "rejection_50" && score.part == 1) score.estimate.above = 30;
    if (score.name == "ece" && score.part == -1) score.estimate.value = std::numeric_limits<double>::infinity();
  }
  const std::vector<scores::Score> mean = folds_of({one, other}, false).folds->figures.scores;
  EXPECT_TRUE(std::isnan(scores::find(mean, "rejection_50", 1)->value)) << "a limit";
  EXPECT_TRUE(std::isnan(scores::find(mean, "ece")->value));
  EXPECT_TRUE(std::isfinite(scores::find(mean, "recall", 1)->value));
}

TEST(ScoreReport, PageEscapesItsTexts) {
  const Made made(3, 2);
  const std::string page = to_html(made.report, {});
  EXPECT_NE(page.find("&lt;QCD&gt;"), std::string::npos);
  EXPECT_NE(page.find("one &amp; only"), std::string::npos);
  for (const char* raw : {"<QCD>", "one & only", "<a> on", "few <events>"})
    EXPECT_EQ(page.find(raw), std::string::npos) << raw;
}

TEST(ScoreReport, TextLinesUp) {
  const std::string text = to_text(Made(3, 1).report);
  EXPECT_NE(text.find("balanced accuracy"), std::string::npos);
  EXPECT_NE(text.find("<QCD>"), std::string::npos);
  EXPECT_EQ(text.find(" \n"), std::string::npos);
  EXPECT_NE(to_text(Made(3, 2).report).find("difference"), std::string::npos);
}

TEST(ScoreReport, RegressionHasResiduals) {
  const std::vector<float> truth{1, 2, 3, 4, 5, 6}, p{1, 2.5F, 3, 3.5F, 5, 6.25F};
  ScoreReport report;
  report.task = scores::Task::kRegression;
  report.title = "r";
  report.models = {"m"};
  report.parts = {"a", "b"};
  report.events = 3;
  report.replicas = 5;
  report.judgement = scores::judge_regressions({.values = truth, .width = 2, .name = "t"},
                                               {{.values = p, .width = 2, .name = "p"}}, {.replicas = 5});
  EXPECT_EQ(names(draw(report)), Names{"residuals"});
  const Json json = to_json(report);
  EXPECT_EQ(json["task"], "regression");
  EXPECT_EQ(json["models"][0]["residuals"].size(), 2U);
  EXPECT_NE(to_text(report).find("resolution"), std::string::npos);
  EXPECT_NE(to_html(report, {}).find("resolution"), std::string::npos);
}

TEST(ScoreReport, LabelsAreJudgedOneByOne) {
  const std::vector<float> truth{1, 0, 0, 1, 1, 1, 0, 0}, p{0.9F, 0.2F, 0.4F, 0.6F, 0.4F, 0.7F, 0.2F, 0.8F};
  ScoreReport report;
  report.task = scores::Task::kLabels;
  report.models = {"m"};
  report.parts = {"<b>", "tau"};
  report.support = {2, 2};
  report.events = 4;
  report.replicas = 5;
  report.judgement = scores::judge_labels({.values = truth, .width = 2, .name = "t"},
                                          {{.values = p, .width = 2, .name = "p"}}, {.replicas = 5});
  EXPECT_EQ(report.shown_classes(), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(names(draw(report)), (Names{"roc", "rejection", "reliability", "scores"}));
  const Json json = to_json(report);
  EXPECT_EQ(json["task"], "labels");
  EXPECT_EQ(json["models"][0]["confusion"], Json::parse("[[[2, 0], [1, 1]], [[1, 1], [0, 2]]]"));
  EXPECT_NE(to_text(report).find("all labels right"), std::string::npos);
  EXPECT_NE(to_text(report).find("AUC, mean of the labels"), std::string::npos);
  const std::string page = to_html(report, {});
  EXPECT_NE(page.find("Events with each label"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
}

TEST(ScoreReport, LimitsAndWhatIsLeftOutAreTold) {
  Made made(3, 1);
  auto& judgement = std::get<scores::ClassifierJudgement>(made.report.judgement);
  for (scores::Score& score : judgement.models[0].scores)
    if (score.name == "rejection_50") score.estimate = {.value = INFINITY, .above = 87.25};
  judgement.left_out = {{"average_precision", 1}, {"accuracy", -1}};
  made.report.weights = WeightFacts{.sum = 8, .effective = 5, .below_zero = 3};
  EXPECT_NE(to_text(made.report).find("> 87.2 (95 %)"), std::string::npos) << to_text(made.report);
  const Json json = to_json(made.report);
  EXPECT_EQ(json["weights"], (Json{{"sum", 8.0}, {"effective_events", 5.0}, {"below_zero", 3}}));
  EXPECT_EQ(json["left_out"], Json::parse(R"([{"name": "average_precision", "part": "class 1"},
                                              {"name": "accuracy", "part": null}])"));
  EXPECT_TRUE(to_json(Made(3, 1).report)["weights"].is_null());
  for (const Json& score : json["models"][0]["scores"]) {
    if (score["name"] != "rejection_50") continue;
    EXPECT_EQ(score["above_95"], 87.25);
  }
}

}  // namespace
}  // namespace linac::report
