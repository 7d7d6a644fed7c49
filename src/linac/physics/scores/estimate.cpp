#include "linac/physics/scores/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/base/bootstrap.h"
#include "linac/base/base/error.h"
#include "linac/base/base/thread_pool.h"

namespace linac::scores {
namespace {

constexpr int kAtOnce = 64;                          // replicas whose weights are in memory
constexpr double kLow = 0.158655, kHigh = 1 - kLow;  // one standard deviation of a normal distribution to either side

// Of ascending values, linearly between them.
double quantile(std::span<const double> ascending, double share) {
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  if (ascending[below] == ascending[above]) return ascending[below];  // both may be infinite
  return std::lerp(ascending[below], ascending[above], place - static_cast<double>(below));
}

void add_spread(Estimate& estimate, std::vector<double> replicas) {
  std::erase_if(replicas, [](double value) { return std::isnan(value); });
  if (replicas.size() < 2) return;
  double sum = 0, squares = 0;
  for (const double value : replicas) sum += value;
  const double n = static_cast<double>(replicas.size()), mean = sum / n;
  for (const double value : replicas) squares += (value - mean) * (value - mean);
  estimate.error = std::sqrt(squares / (n - 1));
  std::sort(replicas.begin(), replicas.end());
  estimate.low = quantile(replicas, kLow);
  estimate.high = quantile(replicas, kHigh);
}

// How often each row counts, [replica - first][row].
std::vector<uint8_t> draws_of(size_t rows, const BootstrapOptions& options, int first, int count) {
  std::vector<uint8_t> draws(rows * static_cast<size_t>(count));
  std::vector<float> uniform(static_cast<size_t>(count));
  for (size_t row = 0; row < rows; ++row) {
    const size_t event = options.event_of_row.empty() ? row : options.event_of_row[row];
    fill_event_uniform(options.seed, 0, event, uniform, static_cast<uint64_t>(first));
    for (size_t i = 0; i < uniform.size(); ++i) draws[i * rows + row] = poisson_of_one(uniform[i]);
  }
  return draws;
}

}  // namespace

const Estimate* find(std::span<const Score> scores, const std::string& name, int part) {
  for (const Score& score : scores)
    if (score.name == name && score.part == part) return &score.estimate;
  return nullptr;
}

std::vector<double> event_weights(size_t events, const BootstrapOptions& options) {
  LINAC_CHECK(options.event_weights.empty() || options.event_weights.size() == events);
  LINAC_CHECK(options.event_of_row.empty() || options.event_of_row.size() == events);
  return options.event_weights.empty() ? std::vector<double>(events, 1.0) : options.event_weights;
}

double effective_events(Weights weights) {
  double sum = 0, squares = 0;
  for (const double weight : weights) {
    sum += weight;
    squares += weight * weight;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

int64_t below_zero(Weights weights) {
  return std::ranges::count_if(weights, [](double weight) { return weight < 0; });
}

void need_weight(Weights weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sum > 0) return;
  throw user_error(
      fmt::format("[scores] the weights of the {} events add up to {:g}; wanted is more than 0", weights.size(), sum));
}

std::vector<Estimate> bootstrap(size_t events, const BootstrapOptions& options, const Evaluate& evaluate) {
  const std::vector<double> whole = event_weights(events, options), values = evaluate(whole);
  std::vector<Estimate> estimates(values.size());
  for (size_t i = 0; i < values.size(); ++i) estimates[i].value = values[i];
  if (options.replicas == 0) return estimates;
  std::vector<std::vector<double>> replicas(static_cast<size_t>(options.replicas));
  ThreadPool pool(std::max(1, options.threads));
  for (int first = 0; first < options.replicas; first += kAtOnce) {
    const int count = std::min(kAtOnce, options.replicas - first);
    const std::vector<uint8_t> draws = draws_of(events, options, first, count);
    pool.run(count, [&](int i) {
      const auto replica = static_cast<size_t>(i);
      std::vector<double> weights = whole;
      for (size_t event = 0; event < events; ++event) weights[event] *= draws[replica * events + event];
      replicas[static_cast<size_t>(first) + replica] = evaluate(weights);
      LINAC_CHECK(replicas[static_cast<size_t>(first) + replica].size() == values.size());
    });
  }
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<double> of_one;
    for (const auto& replica : replicas) of_one.push_back(replica[i]);
    add_spread(estimates[i], std::move(of_one));
  }
  return estimates;
}

std::vector<std::vector<Estimate>> bootstrap_with_difference(size_t events, const BootstrapOptions& options,
                                                             const std::vector<Evaluate>& models) {
  LINAC_CHECK(models.size() == 1 || models.size() == 2);
  const size_t parts = models.size() == 2 ? 3 : 1;
  const std::vector<Estimate> all = bootstrap(events, options, [&](Weights weights) {
    std::vector<double> values = models[0](weights);
    if (parts == 1) return values;
    const std::vector<double> other = models[1](weights);
    const size_t n = other.size();
    values.insert(values.end(), other.begin(), other.end());
    for (size_t i = 0; i < n; ++i) values.push_back(values[i] - other[i]);
    return values;
  });
  const auto n = static_cast<std::ptrdiff_t>(all.size() / parts);
  std::vector<std::vector<Estimate>> result;
  for (auto first = all.begin(); first != all.end(); first += n) result.emplace_back(first, first + n);
  return result;
}

std::vector<Score> named(const std::vector<std::pair<std::string, int>>& names,
                         const std::vector<Estimate>& estimates) {
  LINAC_CHECK(names.size() == estimates.size());
  std::vector<Score> scores;
  for (size_t i = 0; i < names.size(); ++i) scores.push_back({names[i].first, names[i].second, estimates[i]});
  return scores;
}

}  // namespace linac::scores
