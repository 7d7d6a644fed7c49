#include "linac/train/fit_evaluation.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "linac/base/piece_of_work.h"
#include "linac/scores/roc.h"
#include "linac/trained/labelled_data.h"

namespace linac::train {

namespace {

std::vector<size_t> scored_outputs(const models::Supervised& model) {
  std::vector<size_t> outputs;
  for (const models::Metric& auc : model.aucs())
    if (std::find(outputs.begin(), outputs.end(), auc.output) == outputs.end()) outputs.push_back(auc.output);
  return outputs;
}

}  // namespace

// What one replica finds out about its part of the test events: a message whose parts are added up.
struct FitEvaluation::Share {
  /// Scores and targets of one output in the row of an event.
  struct Section {
    size_t output, offset, score_size, target_size, classes;
  };

  Share(const models::Supervised& model, int64_t events) : measure_count(model.measures().size()) {
    for (const size_t output : scored_outputs(model)) {
      const graph::Shape& shape = model.graph().nodes[static_cast<size_t>(model.graph().outputs[output])].output;
      sections.push_back({.output = output,
                          .offset = row_size,
                          .score_size = static_cast<size_t>(graph::elements(shape)),
                          .target_size = static_cast<size_t>(graph::elements(model.target_shapes()[output])),
                          .classes = shape.empty() ? 1 : static_cast<size_t>(shape.back())});
      row_size += sections.back().score_size + sections.back().target_size;
    }
    if (!sections.empty()) ++row_size;  // what the event counts
    message.resize(measure_count + static_cast<size_t>(events) * row_size);
  }

  std::span<float> measures() { return std::span(message).first(measure_count); }
  /// A row an event: the sections, then what it counts. Zero where another replica looked.
  std::span<float> row(int64_t event) {
    return std::span(message).subspan(measure_count + static_cast<size_t>(event) * row_size, row_size);
  }
  double mean_auc(const models::Metric& metric) const;

  size_t measure_count, row_size = 0;
  std::vector<Section> sections;
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
  const models::LabelledEvents events = trained::slice(model_.graph(), batch, 0, batch.events);
  const auto tested = model_.test(parameters, events, 1.0 / static_cast<double>(table.size()));
  for (size_t i = 0; i < share.measure_count; ++i) share.measures()[i] += tested.measures[i];
  for (int64_t i = 0; i < batch.events && share.row_size > 0; ++i) {
    const std::span<float> row = share.row(first + i);
    const auto copy = [&](std::span<const float> values, size_t size, size_t to) {
      std::ranges::copy(values.subspan(static_cast<size_t>(i) * size, size), row.begin() + static_cast<int64_t>(to));
    };
    for (const Share::Section& section : share.sections) {
      copy(tested.scores[section.output], section.score_size, section.offset);
      copy(events.targets[section.output], section.target_size, section.offset + section.score_size);
    }
    row.back() = events.weights.empty() ? 1.0F : events.weights[static_cast<size_t>(i)];
  }
  piece_is_done();
}

// The mean over the classes of the area under each one's curve against the rest; NaN if a class is missing.
double FitEvaluation::Share::mean_auc(const models::Metric& metric) const {
  const Share::Section& section = *std::find_if(sections.begin(), sections.end(),
                                                [&](const Share::Section& one) { return one.output == metric.output; });
  const size_t classes = section.classes, places = section.score_size / classes;
  const bool indices = section.target_size != section.score_size;
  double sum = 0;
  for (size_t one = 0; one < classes; ++one) {
    std::vector<float> scores;
    std::vector<uint8_t> is_positive;
    std::vector<double> weights;
    for (size_t start = measure_count; start < message.size(); start += row_size) {
      const float* const score = message.data() + start + section.offset;
      const float* const target = score + section.score_size;
      for (size_t place = 0; place < places; ++place) {
        scores.push_back(score[place * classes + one]);
        is_positive.push_back(indices ? target[place] == static_cast<float>(one)
                                      : target[place * classes + one] > 0.5F);
        if (metric.weighted) weights.push_back(message[start + row_size - 1]);
      }
    }
    sum += scores::auc(scores, is_positive, weights);
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
  model_.divide_by_weights(measures);
  for (const models::Metric& auc : model_.aucs()) measures[auc.measure] = whole.mean_auc(auc);
  return measures;
}

}  // namespace linac::train
