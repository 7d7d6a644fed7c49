// Labels of which an event may have any number: each a classifier of two classes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/physics/scores/class_figures.h"
#include "linac/physics/scores/classification.h"
#include "linac/physics/scores/judged_models.h"

namespace linac::scores {
namespace {

constexpr int kWith = 1;  // the class of the events that have a label

// Those of a label that are of both its classes.
constexpr const char* kOfBoth[] = {"accuracy", "log_loss", "brier"};

std::vector<float> column_of(const Table& table, size_t column) {
  std::vector<float> values;
  for (size_t i = column; i < table.values.size(); i += table.width) values.push_back(table.values[i]);
  return values;
}

// One model's figures on all labels. The predictions borrow the columns.
class LabelFigures {
 public:
  LabelFigures(const std::vector<Labels>& labels, const Table& table) : all_right_(labels.front().events(), 1) {
    for (size_t label = 0; label < labels.size(); ++label) columns_.push_back(column_of(table, label));
    for (size_t label = 0; label < labels.size(); ++label) {
      const Table column{.values = columns_[label], .width = 1, .name = table.name, .event_of_row = table.event_of_row};
      predictions_.emplace_back(column, labels[label]);
      figures_.emplace_back(labels[label], predictions_.back());
      for (size_t event = 0; event < all_right_.size(); ++event)
        if (predictions_[label].decision(event) != labels[label].truth(event)) all_right_[event] = 0;
    }
    for (const char* name : {"exact_match", "accuracy", "auc_macro", "log_loss", "brier"})
      names_.emplace_back(name, -1);
    const auto& of_two = figures_.front().names();
    for (size_t label = 0; label < labels.size(); ++label)
      for (const auto& [name, part] : of_two)
        if (part == kWith || is_of_both(name, part)) names_.emplace_back(name, static_cast<int>(label));
  }

  const std::vector<std::pair<std::string, int>>& names() const { return names_; }
  const Predictions& predictions(size_t label) const { return predictions_[label]; }
  const ClassFigures& figures(size_t label) const { return figures_[label]; }

  /// Those of names(), and behind them the values of each label's band.
  std::vector<double> values(Weights weights) const {
    std::vector<double> of_labels, bands;
    std::vector<std::pair<double, double>> sums(std::size(kMeans));  // of each, with how many labels have it
    for (const ClassFigures& figures : figures_) {
      const std::vector<double> all = figures.values(weights), band = band_values(figures.ranking(kWith), weights);
      bands.insert(bands.end(), band.begin(), band.end());
      for (size_t i = 0; i < all.size(); ++i) {
        const auto& [name, part] = figures.names()[i];
        if (part != kWith && !is_of_both(name, part)) continue;
        of_labels.push_back(all[i]);
        for (size_t mean = 0; mean < sums.size(); ++mean) {
          if (name != kMeans[mean] || std::isnan(all[i])) continue;
          sums[mean].first += all[i];
          ++sums[mean].second;
        }
      }
    }
    std::vector<double> values{exact_match(weights)};
    for (const auto& [sum, count] : sums) values.push_back(sum / count);
    values.insert(values.end(), of_labels.begin(), of_labels.end());
    values.insert(values.end(), bands.begin(), bands.end());
    return values;
  }

 private:
  static constexpr const char* kMeans[] = {"accuracy", "auc", "log_loss", "brier"};  // in the order of the names

  static bool is_of_both(const std::string& name, int part) {
    return part == -1 && std::find(std::begin(kOfBoth), std::end(kOfBoth), name) != std::end(kOfBoth);
  }

  double exact_match(Weights weights) const {
    double right = 0;
    for (size_t event = 0; event < weights.size(); ++event) right += weights[event] * all_right_[event];
    return right / std::accumulate(weights.begin(), weights.end(), 0.0);
  }

  std::vector<uint8_t> all_right_;  // of each event
  std::vector<std::vector<float>> columns_;
  std::vector<Predictions> predictions_;
  std::vector<ClassFigures> figures_;
  std::vector<std::pair<std::string, int>> names_;
};

std::vector<Labels> labels_of(const Table& targets, const std::vector<Table>& predictions) {
  if (targets.events() == 0) throw user_error(fmt::format("[scores] {}: no events", targets.name));
  for (const Table& one : predictions) {
    if (one.width == targets.width) continue;
    throw data_error(fmt::format("[scores] {} has {} columns, but {} has {} labels", one.name, one.width, targets.name,
                                 targets.width));
  }
  std::vector<Labels> labels;
  for (size_t label = 0; label < targets.width; ++label) labels.push_back(Labels::of_label(targets, label));
  return labels;
}

}  // namespace

ClassifierJudgement judge_labels(const Table& targets, const std::vector<Table>& predictions,
                                 const BootstrapOptions& options) {
  LINAC_CHECK(predictions.size() == 1 || predictions.size() == 2);
  const std::vector<Labels> labels = labels_of(targets, predictions);
  const std::vector<double> weights = event_weights(targets.events(), options);
  need_weight(weights);
  std::vector<LabelFigures> figures;
  figures.reserve(predictions.size());
  for (const Table& one : predictions) figures.emplace_back(labels, one);
  std::vector<JudgedModel> models;
  for (const LabelFigures& own : figures) {
    JudgedModel& model =
        models.emplace_back(JudgedModel{.names = own.names(), .values = {}, .classes = {}, .confusion = {}});
    model.values = [&own](Weights weights) { return own.values(weights); };
    for (size_t label = 0; label < labels.size(); ++label) {
      const ClassFigures& of_label = own.figures(label);
      model.classes.push_back({labels[label], own.predictions(label), of_label, kWith});
      const std::vector<double> confusion = of_label.confusion(weights);
      model.confusion.insert(model.confusion.end(), confusion.begin(), confusion.end());
    }
  }
  return judge_models(models, weights, options);
}

}  // namespace linac::scores
