#pragma once
// The energy resolution as calorimeters are described: the width of the Gaussian core of the response by energy, and
//     sigma / E = a / sqrt(E) (+) b (+) c / E      ((+): added in quadrature; E in GeV)
// with its stochastic, constant and noise terms (R. Wigmans, Calorimetry, 2nd ed., 2017, ch. 4). Pure, thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace linac::physics {

struct Core {
  double mean = 0, width = 0;
  double mean_error = 0, width_error = 0;  // one standard deviation
  int64_t events = 0;                      // within it
};

/// Mean and standard deviation within two of them, again until the same values stay; the width is that of a Gaussian
/// whose tails were cut so. Tails count in neither. Nothing for fewer than 10 values that are finite.
std::optional<Core> gaussian_core(std::span<const float> values);

struct ResolutionPoint {
  double energy_gev = 0;
  double resolution = 0, error = 0;  // sigma / E
};

struct Term {
  double value = 0, error = 0;  // the error is 0 where the term is: then it is at its limit
};

struct ResolutionFit {
  Term stochastic, constant, noise;  // a in sqrt(GeV), b, c in GeV
  double chi2 = 0;
  int degrees = 0;

  double at(double energy_gev) const;
};

/// The least squares of (sigma / E)^2, in which the terms' squares are linear; none of them below 0; weighted by the
/// fitted widths. Points without a positive error do not count; nothing for fewer than four others.
std::optional<ResolutionFit> fit_resolution(const std::vector<ResolutionPoint>& points);

}  // namespace linac::physics
