#include "linac/train/fit_evaluation.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "linac/scores/roc.h"
#include "linac/train/labelled_data.h"

namespace linac::train {

// What one replica finds out about its part of the test events: a message whose parts are added up.
struct FitEvaluation::Share {
  Share(const models::Supervised& model, int64_t events)
      : output(model.graph().nodes[static_cast<size_t>(model.graph().outputs[0])].output),
        score_size(model.wants_auc() ? static_cast<size_t>(graph::elements(output)) : 0),
        target_size(model.wants_auc() ? static_cast<size_t>(graph::elements(model.target_shapes()[0])) : 0),
        measure_count(model.measures().size()),
        message(measure_count + static_cast<size_t>(events) * (score_size + target_size)) {}

  std::span<float> measures() { return std::span(message).first(measure_count); }
  /// A row an event: its scores, then its target. Zero where another replica looked.
  std::span<float> row(int64_t event) {
    const size_t size = score_size + target_size;
    return std::span(message).subspan(measure_count + static_cast<size_t>(event) * size, size);
  }

  graph::Shape output;
  size_t score_size, target_size, measure_count;
  AlignedFloats message;
};

FitEvaluation::FitEvaluation(const spec::Job& job, const models::Supervised& model, ReplicaUpdate& replicas)
    : model_(model), replicas_(replicas), chunk_events_(job.train.batch / job.train.accumulate) {}

void FitEvaluation::chunk(const graph::Parameters& parameters, const data::EventTable& table, int64_t number,
                          Share& share) const {
  const int64_t first = number * chunk_events_;
  std::vector<int64_t> wanted(static_cast<size_t>(std::min(chunk_events_, table.size() - first)));
  std::iota(wanted.begin(), wanted.end(), first);
  data::TableBatch batch;
  table.read(wanted, batch);
  const models::LabelledEvents events = slice(model_.graph(), batch, 0, batch.events);
  const auto tested = model_.test(parameters, events, 1.0 / static_cast<double>(table.size()));
  for (size_t i = 0; i < share.measure_count; ++i) share.measures()[i] += tested.measures[i];
  if (share.score_size == 0) return;
  for (int64_t i = 0; i < batch.events; ++i) {
    const std::span<float> row = share.row(first + i);
    const auto index = static_cast<size_t>(i);
    std::copy_n(tested.scores.begin() + static_cast<int64_t>(index * share.score_size), share.score_size, row.begin());
    std::copy_n(events.targets[0].begin() + static_cast<int64_t>(index * share.target_size), share.target_size,
                row.begin() + static_cast<int64_t>(share.score_size));
  }
}

// The mean over the classes of the area under each one's curve against the rest; NaN if a class is missing.
double FitEvaluation::mean_auc(const Share& whole) const {
  const size_t classes = whole.output.empty() ? 1 : static_cast<size_t>(whole.output.back());
  const bool indices = whole.target_size != whole.score_size;
  const size_t row_size = whole.score_size + whole.target_size;
  const size_t rows = (whole.message.size() - whole.measure_count) / row_size * (whole.score_size / classes);
  double sum = 0;
  for (size_t one = 0; one < classes; ++one) {
    std::vector<float> scores;
    std::vector<uint8_t> is_positive;
    scores.reserve(rows);
    for (size_t start = whole.measure_count; start < whole.message.size(); start += row_size) {
      const float* const row = whole.message.data() + start;
      for (size_t place = 0; place < whole.score_size / classes; ++place) {
        const float* const target = row + whole.score_size;
        scores.push_back(row[place * classes + one]);
        is_positive.push_back(indices ? target[place] == static_cast<float>(one)
                                      : target[place * classes + one] > 0.5F);
      }
    }
    sum += scores::auc(scores, is_positive);
  }
  return sum / static_cast<double>(classes);
}

Measures FitEvaluation::run(const graph::Parameters& parameters, const data::EventTable& table) {
  const int64_t chunks = (table.size() + chunk_events_ - 1) / chunk_events_;
  Share whole(model_, table.size());
  replicas_.sum_chunks(
      chunks,
      [&](std::span<const int64_t> numbers) {
        Share share(model_, table.size());
        for (const int64_t number : numbers) chunk(parameters, table, number, share);
        return std::move(share.message);
      },
      whole.message);
  Measures measures;
  for (size_t i = 0; i < whole.measure_count; ++i) measures[model_.measures()[i]] = whole.measures()[i];
  if (model_.wants_auc()) measures["auc"] = mean_auc(whole);
  return measures;
}

}  // namespace linac::train
