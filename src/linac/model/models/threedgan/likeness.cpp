#include "linac/model/models/threedgan/likeness.h"

#include <array>
#include <cmath>
#include <vector>

namespace linac::models::threedgan {
namespace {

// Bins with less than this share of a shower's energy count by this: one shower in a batch decides about them.
constexpr double kSmallShare = 1e-3;

constexpr int kThresholds = 7;
constexpr double kThresholdRatio = 4, kFirstThreshold = 1.0 / 256;  // of the mean energy of a real cell that is hit

constexpr std::array<double, 2> kFrequencies{0.5, 1.5};  // per spread: the body of a distribution, and its shape
constexpr double kSmallVariance = 1e-6;                  // of cells squared: keeps the root's slope finite

constexpr double kTiny = 1e-12;  // for divisions by what is 0 in an empty batch

// (N, bins): along z, x and y.
at::Tensor profiles_of(const at::Tensor& cells_NXYZ) {
  const at::Tensor xz = cells_NXYZ.sum(2);
  return at::cat({xz.sum(1), xz.sum(2), cells_NXYZ.sum({1, 3})}, 1);
}

// (N, thresholds): a cell counts e^2 / (e^2 + t^2).
at::Tensor counts_of(const at::Tensor& cells_NXYZ, double mean_cell) {
  const at::Tensor squares = cells_NXYZ * cells_NXYZ;
  std::vector<at::Tensor> counts;
  double threshold = mean_cell * kFirstThreshold;
  for (int i = 0; i < kThresholds; ++i, threshold *= kThresholdRatio) {
    const double square = threshold * threshold;
    counts.push_back((squares / (squares + square)).sum({1, 2, 3}));
  }
  return at::stack(counts, 1);
}

// Barycentre and root mean square along an axis, (N, 2) in cells, of a profile (N, bins).
at::Tensor moments_of(const at::Tensor& profile) {
  const at::Tensor total = at::clamp_min(profile.sum(1, true), kTiny);
  const at::Tensor place = at::arange(profile.size(1), profile.options()).unsqueeze(0);
  const at::Tensor mean = (profile * place).sum(1, true) / total;
  const at::Tensor offset = place - mean;
  const at::Tensor variance = (profile * offset * offset).sum(1, true) / total;
  return at::cat({mean, at::sqrt(variance + kSmallVariance)}, 1);
}

// (N, observables): response, and the moments along z, x and y.
at::Tensor observables_of(const at::Tensor& cells_NXYZ, const at::Tensor& energy) {
  const at::Tensor xz = cells_NXYZ.sum(2), along_z = xz.sum(1);
  const at::Tensor response = along_z.sum(1, true) / at::clamp_min(energy, kTiny);
  return at::cat({response, moments_of(along_z), moments_of(xz.sum(2)), moments_of(cells_NXYZ.sum({1, 3}))}, 1);
}

at::Tensor standardised(const at::Tensor& values) {
  return (values - values.mean()) / at::clamp_min(values.std(false), kTiny);
}

// `difference` is (N, observables).
at::Tensor squared_mean(const at::Tensor& difference, const at::Tensor& energy, const at::Tensor& angle) {
  const int64_t n = difference.size(0);
  if (n < 2) return difference.sum() * 0;
  const at::Tensor log_energy = at::log(at::clamp_min(energy, kTiny));
  // Of two different events of a batch the product of standardised values is -1 / (n - 1) on average, not 0: without
  // the correction a distance that is the same for all primaries would come out too small.
  const at::Tensor constant = at::full_like(energy, std::sqrt(1 + 2.0 / static_cast<double>(n - 1)));
  const std::array<at::Tensor, 3> features{constant, standardised(log_energy), standardised(angle)};
  const at::Tensor own = (difference * difference).sum(1, true);
  at::Tensor pairs = difference.new_zeros({});
  for (const at::Tensor& feature : features) {
    const at::Tensor sum = (feature * difference).sum(0);
    pairs = pairs + (sum * sum).sum() - (feature * feature * own).sum();
  }
  return pairs / static_cast<double>(n * (n - 1));
}

}  // namespace

at::Tensor Likeness::profiles() const {
  const at::Tensor energy_of_shower = at::clamp_min(real.sum({1, 2, 3}), kTiny).unsqueeze(1);
  const at::Tensor wanted = profiles_of(real) / energy_of_shower;
  const at::Tensor weight = at::rsqrt(wanted.mean(0, true) + kSmallShare);
  return squared_mean((profiles_of(generated) / energy_of_shower - wanted) * weight, energy, angle);
}

at::Tensor Likeness::spectrum() const {
  const double mean_cell = (real.sum() / at::clamp_min((real > 0).sum(), 1)).item<double>();
  if (!(mean_cell > 0)) return generated.sum() * 0;
  const at::Tensor wanted = counts_of(real, mean_cell);
  const at::Tensor scale = at::clamp_min(wanted.mean(0, true), kTiny);
  return squared_mean((counts_of(generated, mean_cell) - wanted) / scale, energy, angle) / kThresholds;
}

at::Tensor Likeness::observables() const {
  const at::Tensor seen = observables_of(real, energy);
  const at::Tensor mean = seen.mean(0, true), spread = at::clamp_min(seen.std(0, false, true), kTiny);
  const at::Tensor wanted = (seen - mean) / spread, found = (observables_of(generated, energy) - mean) / spread;
  std::vector<at::Tensor> differences;
  for (const double frequency : kFrequencies) {
    differences.push_back(at::cos(frequency * found) - at::cos(frequency * wanted));
    differences.push_back(at::sin(frequency * found) - at::sin(frequency * wanted));
  }
  return squared_mean(at::cat(differences, 1), energy, angle) / static_cast<double>(wanted.size(1));
}

}  // namespace linac::models::threedgan
