#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/physics/report/scores/report.h"

namespace linac::report {
namespace {

template <class Judgement>
void add_fold(ScoreReport& all, const ScoreReport& fold) {
  auto& judgement = std::get<Judgement>(all.judgement);
  const auto& other = std::get<Judgement>(fold.judgement);
  judgement.models.push_back(other.models.at(0));
  for (const scores::ScoreName& name : other.left_out)
    if (std::ranges::find(judgement.left_out, name) == judgement.left_out.end()) judgement.left_out.push_back(name);
}

// Those of all once, the others with the name of their model.
std::vector<std::string> remarks_of(const std::vector<ScoreReport>& folds) {
  std::vector<std::string> common, own;
  const auto has = [](const std::vector<std::string>& remarks, const std::string& remark) {
    return std::ranges::find(remarks, remark) != remarks.end();
  };
  for (const ScoreReport& fold : folds) {
    for (const std::string& remark : fold.remarks) {
      if (!std::ranges::all_of(folds, [&](const ScoreReport& other) { return has(other.remarks, remark); }))
        own.push_back(fmt::format("{}: {}", fold.models[0], remark));
      else if (!has(common, remark))
        common.push_back(remark);
    }
  }
  common.insert(common.end(), own.begin(), own.end());
  return common;
}

}  // namespace

ScoreReport over_folds(std::vector<ScoreReport> folds, bool same_events) {
  LINAC_CHECK(folds.size() > 1);
  std::vector<std::string> remarks = remarks_of(folds);
  ScoreReport all = std::move(folds[0]);
  all.title.clear();
  all.facts.clear();
  all.remarks = std::move(remarks);
  all.folds = FoldFacts{.events = {all.events}, .same_events = same_events, .figures = {}};
  for (const ScoreReport& fold : std::span(folds).subspan(1)) {
    LINAC_CHECK(fold.task == all.task && fold.parts == all.parts && fold.models.size() == 1);
    all.models.push_back(fold.models[0]);
    all.folds->events.push_back(fold.events);
    if (all.support.empty())
      add_fold<scores::RegressionJudgement>(all, fold);
    else
      add_fold<scores::ClassifierJudgement>(all, fold);
    if (same_events) continue;
    all.events += fold.events;
    for (size_t part = 0; part < all.support.size(); ++part) all.support[part] += fold.support[part];
    if (!all.weights || !fold.weights) continue;
    all.weights->sum += fold.weights->sum;
    all.weights->effective += fold.weights->effective;
    all.weights->below_zero += fold.weights->below_zero;
  }
  std::visit([&](const auto& judgement) { all.folds->figures = scores::over_folds(judgement); }, all.judgement);
  return all;
}

}  // namespace linac::report
