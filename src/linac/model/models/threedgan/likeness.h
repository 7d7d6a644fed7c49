#pragma once
// How far generated showers are from real ones on average, differentiable, for the generator's loss. A discriminator
// judges one shower at a time and says little about means; the mean profiles and the spectrum of the cells are what
// `linac validate` measures first.
//
// Both batches have the same primaries, event by event. With d_n the difference of a vector of observables in event n,
// the estimate of its squared mean is the sum over *pairs* of different events, d_n . d_m / (N (N - 1)): the
// U-statistic without the diagonal, whose expectation has no term of the fluctuations (Hoeffding, Ann. Math. Stat. 19
// (1948) 293; for moment matching: Gretton et al., JMLR 13 (2012) 723). So showers gain nothing from fluctuating less.
// It may be negative. Pairs count by a kernel 1 + e_n e_m + a_n a_m with e and a the standardised logarithm of the
// energy and angle: what is too much at low energies and too little at high ones does not cancel.
//
// Thread-safe; the order of all sums depends on the shape alone.

#include <ATen/ATen.h>

#include <array>

#include "linac/base/job/model_kinds.h"

namespace linac::models::threedgan {

/// Cells of a batch, (N, X, Y, Z), in any unit of energy but the same for both; energy / 100 GeV and angle in rad (N,
/// 1) on the same device as the cells. `real` wants no gradient.
struct Likeness {
  at::Tensor generated, real, energy, angle;

  /// The squared distance of mean profiles along z, x and y, each in shares of the real shower's energy: sum over bins
  /// of (generated - real)^2 / real, so its root is an upper limit of the sum of |generated - real|. A scalar; 0 for
  /// fewer than two events.
  at::Tensor profiles() const;

  /// The same of the number of cells above thresholds (4^-4 to 4^2 of the real cells' mean energy, each as a soft
  /// step), relative to the real number: mean over thresholds.
  at::Tensor spectrum() const;

  /// The same of what a physicist looks at in a shower: response, and barycentre and width along z, x and y, each in
  /// units of its spread among the real ones. Compared are the characteristic functions at two frequencies, the means
  /// of cos(f o) and sin(f o), so spread and skewness count as well, and no outlier counts much: sum over both and over
  /// the frequencies, mean over observables.
  at::Tensor observables() const;
};

/// Losses of the generator alone.
struct LikenessLoss {
  const char* name;
  double job::GanLossWeights::*weight;
  at::Tensor (Likeness::*distance)() const;
};

constexpr std::array<LikenessLoss, 3> kLikenessLosses{
    {{"profiles", &job::GanLossWeights::profiles, &Likeness::profiles},
     {"spectrum", &job::GanLossWeights::spectrum, &Likeness::spectrum},
     {"observables", &job::GanLossWeights::observables, &Likeness::observables}}};

}  // namespace linac::models::threedgan
