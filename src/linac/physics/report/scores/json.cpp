#include <cmath>
#include <span>

#include "linac/physics/report/scores/report.h"

namespace linac::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// One member of every element.
template <class Element, class Member>
Json column(const std::vector<Element>& elements, Member member) {
  Json values = Json::array();
  for (const Element& element : elements) values.push_back(number(element.*member));
  return values;
}

Json part_of(const ScoreReport& report, int part) {
  return part < 0 ? Json(nullptr) : Json(report.parts[static_cast<size_t>(part)]);
}

Json scores_of(const ScoreReport& report, const std::vector<scores::Score>& scores) {
  Json list = Json::array();
  for (const scores::Score& score : scores) {
    list.push_back({{"name", score.name},
                    {"part", part_of(report, score.part)},
                    {"value", number(score.estimate.value)},
                    {"error", number(score.estimate.error)},
                    {"low", number(score.estimate.low)},
                    {"high", number(score.estimate.high)},
                    {"above_95", number(score.estimate.above)}});
  }
  return list;
}

Json matrix(std::span<const double> values, size_t columns) {
  Json rows = Json::array();
  for (size_t first = 0; first < values.size(); first += columns) {
    const auto row = values.subspan(first, columns);
    rows.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return rows;
}

void add_details(const ScoreReport& report, const scores::Classification& model, Json& json) {
  const size_t n = report.parts.size();
  Json confusion = Json::array(), classes = Json::array();
  if (report.task == scores::Task::kLabels) {
    for (size_t label = 0; label < n; ++label)
      confusion.push_back(matrix(std::span(model.confusion).subspan(4 * label, 4), 2));
  } else {
    confusion = matrix(model.confusion, n);
  }
  for (size_t label = 0; label < n; ++label) {
    const scores::ClassDetail& detail = model.classes[label];
    classes.push_back({{"name", report.parts[label]},
                       {"auc_delong_error", number(detail.delong_error)},
                       {"roc",
                        {{"fpr", column(detail.roc.points, &scores::RocPoint::fpr)},
                         {"tpr", column(detail.roc.points, &scores::RocPoint::tpr)},
                         {"threshold", column(detail.roc.points, &scores::RocPoint::threshold)}}},
                       {"roc_band",
                        {{"fpr", scores::band_fprs()},
                         {"tpr_low", column(detail.band.tpr, &scores::Estimate::low)},
                         {"tpr_high", column(detail.band.tpr, &scores::Estimate::high)}}},
                       {"reliability",
                        {{"events", column(detail.reliability, &scores::ReliabilityBin::events)},
                         {"predicted", column(detail.reliability, &scores::ReliabilityBin::predicted)},
                         {"observed", column(detail.reliability, &scores::ReliabilityBin::observed)}}},
                       {"distributions", detail.distributions}});
  }
  json["confusion"] = std::move(confusion);
  json["classes"] = std::move(classes);
}

void add_details(const ScoreReport& report, const scores::Regression& model, Json& json) {
  Json outputs = Json::array();
  for (size_t output = 0; output < report.parts.size(); ++output) {
    const scores::Residuals& residuals = model.residuals[output];
    outputs.push_back({{"name", report.parts[output]},
                       {"low", residuals.low},
                       {"high", residuals.high},
                       {"counts", residuals.counts},
                       {"below", residuals.below},
                       {"above", residuals.above}});
  }
  json["residuals"] = std::move(outputs);
}

void add_difference(const ScoreReport& report, const scores::ClassifierJudgement& judgement, Json& json) {
  if (!report.compares()) return;
  json["difference"] = scores_of(report, judgement.difference);
  Json errors = Json::array();
  for (const double error : judgement.delong_difference_error) errors.push_back(number(error));
  json["auc_difference_delong_errors"] = std::move(errors);
}

void add_difference(const ScoreReport& report, const scores::RegressionJudgement& judgement, Json& json) {
  if (report.compares()) json["difference"] = scores_of(report, judgement.difference);
}

Json folds_of(const ScoreReport& report) {
  const scores::FoldFigures& figures = report.folds->figures;
  Json list = Json::array(), classes = Json::array();
  for (const scores::Score& score : figures.scores) {
    list.push_back({{"name", score.name},
                    {"part", part_of(report, score.part)},
                    {"mean", number(score.estimate.value)},
                    {"deviation", number(score.estimate.error)}});
  }
  for (size_t label = 0; label < figures.bands.size(); ++label) {
    const std::vector<scores::Estimate>& tpr = figures.bands[label].tpr;
    classes.push_back({{"name", report.parts[label]},
                       {"roc",
                        {{"fpr", scores::band_fprs()},
                         {"tpr_mean", column(tpr, &scores::Estimate::value)},
                         {"tpr_deviation", column(tpr, &scores::Estimate::error)}}}});
  }
  return {{"events", report.folds->events},
          {"same_events", report.folds->same_events},
          {"scores", std::move(list)},
          {"classes", std::move(classes)}};
}

}  // namespace

nlohmann::ordered_json to_json(const ScoreReport& report) {
  Json facts = Json::object(), models = Json::array();
  for (const auto& [name, value] : report.facts) facts[name] = value;
  Json left_out = Json::array(), weights;
  for (const auto& [name, part] : report.left_out())
    left_out.push_back({{"name", name}, {"part", part_of(report, part)}});
  if (report.weights) {
    weights = {{"sum", report.weights->sum},
               {"effective_events", report.weights->effective},
               {"below_zero", report.weights->below_zero}};
  }
  Json json{{"task", scores::to_string(report.task)},
            {"events", report.events},
            {"parts", report.parts},
            {"support", report.support},
            {"replicas", report.replicas},
            {"weights", std::move(weights)},
            {"left_out", std::move(left_out)},
            {"facts", std::move(facts)},
            {"remarks", report.remarks}};
  std::visit(
      [&](const auto& judgement) {
        for (size_t i = 0; i < report.models.size(); ++i) {
          Json model{{"name", report.models[i]}, {"scores", scores_of(report, judgement.models[i].scores)}};
          add_details(report, judgement.models[i], model);
          models.push_back(std::move(model));
        }
        json["models"] = std::move(models);
        add_difference(report, judgement, json);
      },
      report.judgement);
  if (report.folds) json["folds"] = folds_of(report);
  return json;
}

}  // namespace linac::report
