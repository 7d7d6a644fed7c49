#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/scores/tables.h"
#include "linac/physics/report/scores/words.h"

namespace linac::report {
namespace {

constexpr const char* kClassesReading =
    "The <em>AUC</em> of a class is the probability that one of its events gets a higher probability for it than an "
    "event of another class (ties count half): 0.5 by chance, 1 at best. <em>1/fpr at 50 %</em> is how many background "
    "events are rejected for one that passes where half of the signal passes. <em>Average precision</em> depends on "
    "how many events of each class there are, as do precision and accuracy; AUC, recall and rejection do not. The "
    "<em>log loss</em> and the <em>Brier score</em> judge the probabilities themselves, the lower the better; the "
    "<em>calibration error</em> is how far they are from frequencies on average, and chance alone makes it larger than "
    "0.";
constexpr const char* kLabelsReading =
    "Each label is judged by itself: events with it are the signal, those without it the background. "
    "<em>All labels right</em> is the share of the events of which every label is decided rightly, from one half on; "
    "other figures of all events are means of the labels'.";
constexpr const char* kLimitsReading =
    "<em>&gt; 87 (95 %)</em> is a limit: so few background events pass that no more is known of the rejection.";
constexpr const char* kOutputsReading =
    "The <em>bias</em> is the mean of prediction minus truth, the <em>resolution</em> its standard deviation; the mean "
    "squared error is the sum of both squares. <em>R²</em> is the part of the truth's variance that the prediction "
    "explains: 1 at best, 0 for a constant.";
constexpr const char* kFoldsReading =
    "A <em>mean</em> stands with the standard deviation of the models (n − 1): how far another training, on other "
    "events, would be off. It has no limits and no infinite numbers: where a model has one, there is no mean. ";
constexpr const char* kErrorReading =
    "Uncertainties are standard deviations over bootstrap replicas (the events drawn again, with replacement): how far "
    "another sample of as many events would be off. They know nothing of another training.";

std::string reading_of(scores::Task task) {
  switch (task) {
    case scores::Task::kClasses:
      return fmt::format("{} {} ", kClassesReading, kLimitsReading);
    case scores::Task::kLabels:
      return fmt::format("{} {} {} ", kLabelsReading, kClassesReading, kLimitsReading);
    case scores::Task::kRegression:
      return fmt::format("{} ", kOutputsReading);
  }
  return "";
}

std::string interval(const scores::Estimate* estimate) {
  if (estimate == nullptr || !std::isfinite(estimate->low) || !std::isfinite(estimate->high)) return "–";
  const int decimals =
      estimate->error > 0 ? std::max(0, 1 - static_cast<int>(std::floor(std::log10(estimate->error)))) : 3;
  return fmt::format("{:.{}f} to {:.{}f}", estimate->low, decimals, estimate->high, decimals);
}

std::string number_cell(const std::string& label, const std::string& text) {
  return table_cell(label, escape(text), text == "–" ? "class=\"n none\"" : "class=\"n\"");
}

std::string overall_row(const ScoreReport& report, const std::string& name) {
  std::string cells;
  for (const ScoreRow& row : rows_of(report))
    cells += number_cell(row.model.empty() ? "value" : row.model, score_text(scores::find(*row.scores, name)));
  if (report.compares()) {
    cells += number_cell("significance", significance_text(scores::find(report.difference(), name)));
  } else if (!report.folds) {
    cells += number_cell("68 % interval", interval(scores::find(report.scores_of(0), name)));
  }
  return element("tr", "", row_head(score_title(report.task, name), name) + cells);
}

std::string overall_part(const ScoreReport& report) {
  std::vector<std::string> heads{"score"};
  for (const ScoreRow& row : rows_of(report)) heads.push_back(row.model.empty() ? "value" : escape(row.model));
  if (!report.folds) heads.emplace_back(report.compares() ? "significance" : "68 % interval");
  std::string rows;
  for (const std::string& name : overall_scores(report)) rows += overall_row(report, name);
  if (rows.empty()) return {};
  return element("h2", "", "All events") +
         element("table", "class=\"figures\"", table_heads(heads) + element("tbody", "", rows));
}

std::string part_row(const ScoreReport& report, const PartTable& table, size_t part, const ScoreRow& row) {
  const std::string small =
      row.model.empty() && !report.support.empty() ? fmt::format("{} events", report.support[part]) : escape(row.model);
  std::string cells =
      element("th", "scope=\"row\"",
              (row.is_difference ? std::string() : element("span", "class=\"title\"", escape(report.parts[part]))) +
                  element("small", "", small));
  for (const std::string& name : table.scores) {
    const scores::Estimate* estimate = scores::find(*row.scores, name, static_cast<int>(part));
    std::string text = escape(score_text(estimate));
    if (row.is_difference) text += element("small", "", significance_text(estimate));
    const std::string kind = fmt::format("n{}{}", text == "–" ? " none" : "", row.is_difference ? " worst" : "");
    cells += table_cell(score_title(report.task, name), text, "class=\"" + kind + "\"");
  }
  return element("tr", "", cells);
}

std::string part_part(const ScoreReport& report, const PartTable& table) {
  std::vector<std::string> heads{part_word(report)};
  for (const std::string& name : table.scores) heads.push_back(score_title(report.task, name));
  std::string rows;
  for (size_t part = 0; part < report.parts.size(); ++part)
    for (const ScoreRow& row : rows_of(report)) rows += part_row(report, table, part, row);
  return element("h2", "", table.title) +
         element("table", "class=\"figures\"", table_heads(heads) + element("tbody", "", rows));
}

std::string value_text(const ScoreReport& report, const std::string& name, int part) {
  return fmt::format("{} {}", score_title(report.task, name),
                     score_text(scores::find(*rows_of(report)[0].scores, name, part)));
}

// "AUC: 0.0179 above that of Keras (24.2 σ)"; of one model nothing.
std::string against_other(const ScoreReport& report, const std::string& name, int part) {
  const scores::Estimate* difference = scores::find(report.difference(), name, part);
  if (difference == nullptr || !std::isfinite(difference->value)) return {};
  const std::string distance = short_number(std::abs(difference->value)), sigma = significance_text(difference);
  const std::string text = difference->value == 0
                               ? fmt::format("the same as that of {}", report.models[1])
                               : fmt::format("{} {} that of {}{}", distance, difference->value < 0 ? "below" : "above",
                                             report.models[1], sigma == "–" ? "" : " (" + sigma + ")");
  return element("p", "", escape(fmt::format("{}: {}", score_title(report.task, name), text)));
}

std::string headline(const ScoreReport& report) {
  const bool classes = !report.support.empty();
  const std::string name = classes ? "auc_macro" : "resolution";
  const int part = classes ? -1 : 0;
  std::string events = fmt::format("{} events", report.events), each;
  for (size_t label = 0; label < report.support.size(); ++label)
    each += fmt::format("{} {} {}", label == 0 ? ":" : ",", report.support[label], report.parts[label]);
  std::string lines = against_other(report, name, part);
  if (classes) {
    lines += report.compares() ? against_other(report, "accuracy", -1)
                               : element("p", "", escape(value_text(report, "accuracy", -1)));
  }
  return element("section", "class=\"verdict neutral\"",
                 element("p", "class=\"word\"", escape(value_text(report, name, part))) + lines +
                     element("p", "class=\"quiet\"", escape(events + each)));
}

}  // namespace

std::string to_html(const ScoreReport& report, const std::vector<NamedPicture>& pictures) {
  LINAC_CHECK(report.folds || report.models.size() == 1 || report.models.size() == 2);
  std::string tables = overall_part(report);
  for (const PartTable& table : part_tables(report)) tables += part_part(report, table);
  const std::string about = report.compares() ? report.models[0] + " and " + report.models[1] : report.models[0];
  const std::string reading = fmt::format("{}{}{}", reading_of(report.task), report.folds ? kFoldsReading : "",
                                          report.replicas > 0 ? kErrorReading : "");
  return whole_page(report.title, headline(report) + remarks_part(report.remarks) + tables +
                                      pictures_part(about, pictures) + facts_part(report.facts) +
                                      element("h2", "", "How to read this") +
                                      element("p", "class=\"reading\"", reading));
}

}  // namespace linac::report
