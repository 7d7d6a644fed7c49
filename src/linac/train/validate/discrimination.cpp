#include "linac/train/validate/discrimination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/thread_pool.h"
#include "linac/base/optimizer/optimizer.h"
#include "linac/model/models/binary_classifier.h"
#include "linac/model/models/torch_threads.h"

namespace linac::validate {
namespace {

// Events of both samples, one row each.
struct Rows {
  std::span<const float> first, second;
  size_t length;

  size_t first_size() const { return first.size() / length; }
  size_t size() const { return (first.size() + second.size()) / length; }
  bool is_second(size_t row) const { return row >= first_size(); }
  // Both samples are dealt out to the folds in turn.
  size_t fold(size_t row, size_t folds) const { return (is_second(row) ? row - first_size() : row) % folds; }
  void copy(size_t row, std::vector<float>& out) const {
    const auto& from = is_second(row) ? second : first;
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>((is_second(row) ? row - first_size() : row) * length);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
  }
};

class Fold {
 public:
  Fold(const models::BinaryClassifier& classifier, const Rows& rows, size_t fold, const DiscriminationOptions& options)
      : classifier_(classifier), rows_(rows), number_(fold), options_(options) {
    for (size_t row = 0; row < rows.size(); ++row) {
      const bool tested = rows.fold(row, static_cast<size_t>(options.folds)) == fold;
      (tested ? tested_ : trained_).push_back(row);
    }
    const auto seconds = static_cast<double>(
        std::count_if(trained_.begin(), trained_.end(), [&](size_t row) { return rows.is_second(row); }));
    const auto all = static_cast<double>(trained_.size());
    first_weight_ = static_cast<float>(all / (2 * (all - seconds)));
    second_weight_ = static_cast<float>(all / (2 * seconds));
  }

  double auc() {
    graph::Parameters parameters = graph::Parameters::of(classifier_.network());
    graph::initialize(classifier_.network(), options_.seed, static_cast<uint32_t>(number_), parameters);
    train(parameters);
    std::vector<float> first, second;
    each_batch(tested_, [&](std::span<const size_t> batch, const std::vector<float>& inputs, uint32_t) {
      const std::vector<float> scores = classifier_.scores(parameters, inputs);
      for (size_t i = 0; i < batch.size(); ++i) (rows_.is_second(batch[i]) ? second : first).push_back(scores[i]);
    });
    return area_under_roc(first, second);
  }

 private:
  template <class Use>
  void each_batch(std::span<const size_t> rows, const Use& use) const {
    const auto size = static_cast<size_t>(options_.batch);
    for (size_t begin = 0; begin < rows.size(); begin += size) {
      const auto batch = rows.subspan(begin, std::min(size, rows.size() - begin));
      std::vector<float> inputs;
      for (const size_t row : batch) rows_.copy(row, inputs);
      use(batch, inputs, static_cast<uint32_t>(begin / size));
    }
  }

  void train(graph::Parameters& parameters) const {
    optimizer::Settings settings;
    settings.name = "adam";
    optimizer::Optimizer optimizer(settings, parameters.trainable.size());
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      RngKey key{.seed = options_.seed,
                 .stream = Stream::kShuffle,
                 .lane = static_cast<uint32_t>(number_),
                 .epoch = static_cast<uint32_t>(epoch)};
      std::vector<int64_t> order(trained_.size());
      fill_permutation(key, order);
      std::vector<size_t> shuffled;
      for (const int64_t i : order) shuffled.push_back(trained_[static_cast<size_t>(i)]);
      each_batch(shuffled, [&](std::span<const size_t> batch, const std::vector<float>& inputs, uint32_t step) {
        std::vector<float> labels, weights;
        for (const size_t row : batch) {
          labels.push_back(rows_.is_second(row) ? 1 : 0);
          weights.push_back(rows_.is_second(row) ? second_weight_ : first_weight_);
        }
        const RngKey dropout{.seed = options_.seed,
                             .stream = Stream::kDropout,
                             .epoch = static_cast<uint32_t>(epoch),
                             .step = step,
                             .replica = static_cast<uint32_t>(number_)};
        optimizer.step(parameters.trainable, classifier_.gradient(parameters, inputs, labels, weights, dropout),
                       options_.learning_rate);
      });
    }
  }

  const models::BinaryClassifier& classifier_;
  const Rows& rows_;
  size_t number_;
  DiscriminationOptions options_;
  std::vector<size_t> trained_, tested_;
  float first_weight_ = 1, second_weight_ = 1;
};

}  // namespace

double area_under_roc(std::span<const float> first, std::span<const float> second) {
  if (first.empty() || second.empty()) return 0.5;
  std::vector<std::pair<float, bool>> all;
  for (const float score : first) all.emplace_back(score, false);
  for (const float score : second) all.emplace_back(score, true);
  std::sort(all.begin(), all.end());
  double below = 0, area = 0;  // firsts below the current group of equal scores
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    double firsts = 0, seconds = 0;
    for (; end < all.size() && all[end].first == all[begin].first; ++end) (all[end].second ? seconds : firsts) += 1;
    area += seconds * (below + firsts / 2);
    below += firsts;
    begin = end;
  }
  return area / (static_cast<double>(first.size()) * static_cast<double>(second.size()));
}

Auc discriminate(const graph::Graph& network, std::span<const float> first, std::span<const float> second,
                 const DiscriminationOptions& options) {
  const models::BinaryClassifier classifier(network);
  const graph::Graph& graph = classifier.network();
  const auto length = static_cast<size_t>(graph::elements(graph.nodes[static_cast<size_t>(graph.inputs[0])].output));
  const Rows rows{first, second, length};
  const auto folds = static_cast<size_t>(options.folds);
  if (rows.first_size() < folds || rows.size() - rows.first_size() < folds) {
    throw data_error(
        fmt::format("[validate] the classifier test wants at least {} showers of each sample, got {} and {}", folds,
                    rows.first_size(), rows.size() - rows.first_size()));
  }
  std::vector<double> areas(folds);
  ThreadPool pool(std::min(options.threads, options.folds), [] { models::use_threads(1); });
  pool.run(options.folds, [&](int fold) {
    areas[static_cast<size_t>(fold)] = Fold(classifier, rows, static_cast<size_t>(fold), options).auc();
  });
  const double mean = std::accumulate(areas.begin(), areas.end(), 0.0) / static_cast<double>(folds);
  double squares = 0;
  for (const double area : areas) squares += (area - mean) * (area - mean);
  const double n = static_cast<double>(folds);
  return {mean, folds > 1 ? std::sqrt(squares / (n * (n - 1))) : 0};
}

}  // namespace linac::validate
