#pragma once
// How different two samples of one number are. Each event has a weight, so bootstrap
// replicas and halves of a sample are only other weights. Pure, thread-safe.

#include <span>
#include <vector>

namespace linac::physics {

/// Bins for histogram distances: evenly over [low, high], what lies outside in the first and the last.
struct Binning {
  double low = 0, high = 1;
  int bins = 1;
  size_t bin_of(double value) const;
};

/// Between the quantiles 0.005 and 0.995 of ascending values; of width 1 around a constant. No values: [0, 1].
Binning central_binning(std::span<const float> ascending, int bins);

struct TwoSampleDistances {
  double ks = 0;            // Kolmogorov-Smirnov: largest distance of the cumulative distributions, 0 to 1
  double wasserstein = 0;   // Wasserstein-1 in the unit of the values
  double separation = 0;    // 1/2 sum (p - q)^2 / (p + q) over normalised histograms, 0 to 1 (as in the CaloChallenge)
  double chi2_per_ndf = 0;  // of the 2 x bins contingency table: 1 on average for samples of one distribution
};

/// `values` ascend and hold both samples; a[i] and b[i] are the weights that values[i] has in either (0: not in it).
/// Everything is 0 when one sample has no weight.
TwoSampleDistances two_sample(std::span<const float> values, std::span<const float> a, std::span<const float> b,
                              const Binning& binning);

/// The separation power of two histograms of any norm.
double separation(std::span<const double> p, std::span<const double> q);

/// Sum |p - q| / sum q: the relative distance of a profile from a reference; 0 if the reference is empty.
double relative_distance(std::span<const double> p, std::span<const double> reference);

/// The largest |p/q - 1| over the highest bins of the reference that together hold `share` of it.
double worst_deviation(std::span<const double> p, std::span<const double> reference, double share);

}  // namespace linac::physics
