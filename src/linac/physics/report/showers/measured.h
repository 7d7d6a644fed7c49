#pragma once
// What the pictures draw, computed from samples: curves with their uncertainties. Pure, thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/physics/physics/resolution.h"
#include "linac/physics/physics/sample.h"
#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/binned.h"
#include "linac/physics/report/showers/report.h"

namespace linac::report {

/// The mean profile of all events; errors are standard deviations over the bootstrap replicas, none without them.
plot::Binned mean_profile(const physics::Sample& sample, physics::Profile profile);

/// Even slices of the reference's primary energies.
std::vector<double> energy_slices(const ShowerReport& report);

/// An observable's mean and its statistical error in slices of the primary energy. A slice with fewer than
/// kSliceEventsMin events is NaN.
constexpr int64_t kSliceEventsMin = 5;
plot::Binned mean_in_slices(const physics::Sample& sample, physics::Observable observable,
                            const std::vector<double>& edges);

/// Width over mean of the response's Gaussian core in such slices (NaN for few events), and the terms that describe it.
struct Resolution {
  plot::Binned slices;
  std::optional<physics::ResolutionFit> fit;
};
Resolution resolution_in_slices(const physics::Sample& sample, const std::vector<double>& edges);

/// An axis around values and their errors, not from 0.
plot::Axis close_axis(const std::vector<const plot::Binned*>& curves, std::string label);

/// A logarithmic axis around both, over so many decades below the highest value at most.
plot::Axis log_axis(const plot::Binned& a, const plot::Binned& b, int decades, std::string label);

/// "810 and 820 showers".
std::string counts(const ShowerReport& report);
/// "bands: one standard deviation of 40 bootstraps", or that there are none.
std::string bands_note(const ShowerReport& report);

}  // namespace linac::report
