#include "linac/train/train/loops/fit_evaluation.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "linac/base/base/piece_of_work.h"
#include "linac/physics/scores/roc.h"
#include "linac/train/train/loops/collect_chunks.h"
#include "linac/train/trained/labelled_data.h"

namespace linac::train {

namespace {

std::vector<size_t> scored_outputs(const models::Supervised& model) {
  std::vector<size_t> outputs;
  for (const models::Metric& metric : model.of_all_scores())
    if (std::find(outputs.begin(), outputs.end(), metric.output) == outputs.end()) outputs.push_back(metric.output);
  return outputs;
}

// The one of a replica's parts whose results count where all have the same.
bool is_first(const graph::PartLink* part) {
  return part == nullptr || part->part() == 0;
}

}  // namespace

// Scores and targets of the events, chunk by chunk: a row an event with the sections of the outputs, then what the
// event or each of its steps counts. A worker has the chunks of its replicas, rank 0 those of the others in the end.
// Chunks may be filled at the same time.
class FitEvaluation::Rows {
 public:
  /// `weights`: of an event.
  Rows(const models::Supervised& model, int64_t events, int64_t chunk_events, size_t weights)
      : events_(events), chunk_events_(chunk_events), weights_(weights) {
    for (const size_t output : scored_outputs(model)) {
      const graph::Shape& shape = model.graph().nodes[static_cast<size_t>(model.graph().outputs[output])].output;
      const auto target = std::ranges::find(model.targets(), output, &models::Supervised::Target::output);
      sections_.push_back({.output = output,
                           .target = static_cast<size_t>(target - model.targets().begin()),
                           .offset = row_size_,
                           .score_size = static_cast<size_t>(graph::elements(shape)),
                           .target_size = static_cast<size_t>(graph::elements(target->shape)),
                           .classes = shape.empty() ? 1 : static_cast<size_t>(shape.back())});
      row_size_ += sections_.back().score_size + sections_.back().target_size;
    }
    if (!sections_.empty()) row_size_ += weights_;
    chunks_.resize(static_cast<size_t>((events + chunk_events - 1) / chunk_events));
  }

  bool wanted() const { return row_size_ > 0; }
  int64_t chunks() const { return static_cast<int64_t>(chunks_.size()); }
  /// Floats of a chunk.
  size_t size(int64_t number) const {
    return static_cast<size_t>(std::min(chunk_events_, events_ - number * chunk_events_)) * row_size_;
  }
  void fill(int64_t number, const models::Supervised::Tested& tested, const models::LabelledEvents& events);
  void collect(comm::Group& group, const job::Train& train) {
    collect_chunks(group, train.replicas, train.split.parts(), chunks_,
                   [this](int64_t number) { return size(number); });
  }
  double mean_over_classes(const models::Metric& metric) const;

 private:
  /// Scores and targets of one output in the row of an event.
  struct Section {
    size_t output, target, offset, score_size, target_size, classes;
  };

  const int64_t events_, chunk_events_;
  const size_t weights_;
  size_t row_size_ = 0;
  std::vector<Section> sections_;
  std::vector<std::vector<float>> chunks_;
};

void FitEvaluation::Rows::fill(int64_t number, const models::Supervised::Tested& tested,
                               const models::LabelledEvents& events) {
  std::vector<float>& chunk = chunks_[static_cast<size_t>(number)];
  chunk.resize(size(number));
  for (size_t i = 0; i < chunk.size() / row_size_; ++i) {
    const std::span<float> row = std::span(chunk).subspan(i * row_size_, row_size_);
    const auto copy = [&](std::span<const float> values, size_t size, size_t to) {
      std::ranges::copy(values.subspan(i * size, size), row.begin() + static_cast<int64_t>(to));
    };
    for (const Section& section : sections_) {
      copy(tested.scores[section.output], section.score_size, section.offset);
      copy(events.targets[section.target], section.target_size, section.offset + section.score_size);
    }
    if (events.weights.empty())
      row.back() = 1;
    else
      copy(events.weights, weights_, row_size_ - weights_);
  }
}

// The mean over the classes of the metric of each one against the rest; NaN if a class is missing.
double FitEvaluation::Rows::mean_over_classes(const models::Metric& metric) const {
  const Section& section = *std::find_if(sections_.begin(), sections_.end(),
                                         [&](const Section& one) { return one.output == metric.output; });
  const size_t classes = section.classes, places = section.score_size / classes;
  const bool indices = section.target_size != section.score_size;
  double sum = 0;
  for (size_t one = 0; one < classes; ++one) {
    std::vector<float> scores;
    std::vector<uint8_t> is_positive;
    std::vector<double> weights;
    for (const std::vector<float>& chunk : chunks_) {
      for (size_t start = 0; start < chunk.size(); start += row_size_) {
        const float* const score = chunk.data() + start + section.offset;
        const float* const target = score + section.score_size;
        for (size_t place = 0; place < places; ++place) {
          scores.push_back(score[place * classes + one]);
          is_positive.push_back(indices ? target[place] == static_cast<float>(one)
                                        : target[place * classes + one] > 0.5F);
          if (metric.weighted) weights.push_back(chunk[start + row_size_ - weights_ + place * weights_ / places]);
        }
      }
    }
    sum += scores::rank_score(metric.name, scores, is_positive, weights);
  }
  return sum / static_cast<double>(classes);
}

FitEvaluation::FitEvaluation(const job::Job& job, const models::Supervised& model, ReplicaUpdate& replicas)
    : job_(job), model_(model), replicas_(replicas), chunk_events_(job.train.batch / job.train.accumulate) {}

void FitEvaluation::chunk(const graph::Parameters& parameters, const data::EventTable& table, int64_t number,
                          std::span<float> measures, Rows& rows, graph::PartLink* part) const {
  const int64_t first = number * chunk_events_;
  std::vector<int64_t> wanted(static_cast<size_t>(std::min(chunk_events_, table.size() - first)));
  std::iota(wanted.begin(), wanted.end(), first);
  data::TableBatch batch;
  table.read(wanted, batch);
  const models::LabelledEvents events = trained::slice(model_, batch, 0, batch.events);
  const auto tested = model_.test(parameters, events, 1.0 / static_cast<double>(table.size()), part);
  for (size_t i = 0; i < measures.size(); ++i) measures[i] += tested.measures[i];
  if (rows.wanted() && is_first(part)) rows.fill(number, tested, events);
  piece_is_done();
}

Measures FitEvaluation::run(const graph::Parameters& parameters, const data::EventTable& table) {
  const data::ColumnRequest& last = table.columns().back();
  const int64_t weights = job_.data.event_weight.empty() ? 1 : last.event_values();
  Rows rows(model_, table.size(), chunk_events_, static_cast<size_t>(weights));
  AlignedFloats sums(model_.measures().size());
  replicas_.sum_chunks(
      rows.chunks(),
      [&](std::span<const int64_t> numbers, graph::PartLink* part) {
        AlignedFloats share(sums.size());
        for (const int64_t number : numbers) chunk(parameters, table, number, share, rows, part);
        return share;
      },
      sums);
  Measures measures;
  for (size_t i = 0; i < sums.size(); ++i) measures[model_.measures()[i]] = sums[i];
  model_.divide_by_weights(measures);
  if (!rows.wanted()) return measures;
  comm::Group& group = replicas_.group();
  rows.collect(group, job_.train);
  const std::vector<models::Metric> metrics = model_.of_all_scores();
  std::vector<double> values(metrics.size());
  if (group.rank() == 0)
    std::ranges::transform(metrics, values.begin(),
                           [&](const models::Metric& one) { return rows.mean_over_classes(one); });
  std::vector<int> ranks(static_cast<size_t>(group.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  group.broadcast_among(ranks, std::as_writable_bytes(std::span(values)));
  for (size_t i = 0; i < metrics.size(); ++i) measures[metrics[i].measure] = values[i];
  return measures;
}

}  // namespace linac::train
