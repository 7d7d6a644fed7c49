#include "linac/physics/physics/two_sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

template <class T>
double sum(std::span<const T> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double chi2_per_ndf(std::span<const double> p, std::span<const double> q) {
  const double p_sum = sum(p), q_sum = sum(q);
  if (!(p_sum > 0) || !(q_sum > 0)) return 0;
  const double p_scale = std::sqrt(q_sum / p_sum), q_scale = std::sqrt(p_sum / q_sum);
  double chi2 = 0;
  int filled = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!(p[i] + q[i] > 0)) continue;
    const double difference = p_scale * p[i] - q_scale * q[i];
    chi2 += difference * difference / (p[i] + q[i]);
    ++filled;
  }
  return filled > 1 ? chi2 / (filled - 1) : 0;
}

}  // namespace

size_t Binning::bin_of(double value) const {
  const double place = (value - low) / (high - low) * bins;
  if (std::isnan(place)) return 0;  // which no cast to an integer takes
  return static_cast<size_t>(std::clamp(place, 0.0, bins - 1.0));
}

Binning central_binning(std::span<const float> ascending, int bins) {
  if (ascending.empty()) return {.bins = bins};
  const auto last = static_cast<double>(ascending.size() - 1);
  const double low = ascending[static_cast<size_t>(0.005 * last)], high = ascending[static_cast<size_t>(0.995 * last)];
  if (low < high) return {low, high, bins};
  return {low - 0.5, low + 0.5, bins};
}

TwoSampleDistances two_sample(std::span<const float> values, std::span<const float> a, std::span<const float> b,
                              const Binning& binning) {
  LINAC_CHECK(values.size() == a.size() && values.size() == b.size());
  const double a_sum = sum(a), b_sum = sum(b);
  if (!(a_sum > 0) || !(b_sum > 0)) return {};
  TwoSampleDistances distances;
  std::vector<double> p(static_cast<size_t>(binning.bins)), q(p.size());
  double gap = 0;  // between the cumulative distributions at values[i]
  for (size_t i = 0; i < values.size(); ++i) {
    gap += a[i] / a_sum - b[i] / b_sum;
    const bool tied = i + 1 < values.size() && values[i + 1] == values[i];
    if (!tied) distances.ks = std::max(distances.ks, std::abs(gap));
    if (i + 1 < values.size())
      distances.wasserstein += std::abs(gap) * (static_cast<double>(values[i + 1]) - static_cast<double>(values[i]));
    const size_t bin = binning.bin_of(values[i]);
    p[bin] += a[i];
    q[bin] += b[i];
  }
  distances.separation = separation(p, q);
  distances.chi2_per_ndf = chi2_per_ndf(p, q);
  return distances;
}

double separation(std::span<const double> p, std::span<const double> q) {
  LINAC_CHECK(p.size() == q.size());
  const double p_sum = sum(p), q_sum = sum(q);
  if (!(p_sum > 0) || !(q_sum > 0)) return p_sum > 0 || q_sum > 0 ? 1 : 0;
  double result = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double x = p[i] / p_sum, y = q[i] / q_sum;
    if (x + y > 0) result += (x - y) * (x - y) / (x + y) / 2;
  }
  return result;
}

double relative_distance(std::span<const double> p, std::span<const double> reference) {
  LINAC_CHECK(p.size() == reference.size());
  const double norm = sum(reference);
  double difference = 0;
  for (size_t i = 0; i < p.size(); ++i) difference += std::abs(p[i] - reference[i]);
  return norm > 0 ? difference / norm : 0;
}

double worst_deviation(std::span<const double> p, std::span<const double> reference, double share) {
  LINAC_CHECK(p.size() == reference.size());
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return reference[i] > reference[j]; });
  const double wanted = share * sum(reference);
  double held = 0, worst = 0;
  for (const size_t i : order) {
    if (held >= wanted || !(reference[i] > 0)) break;
    worst = std::max(worst, std::abs(p[i] / reference[i] - 1));
    held += reference[i];
  }
  return worst;
}

}  // namespace linac::physics
