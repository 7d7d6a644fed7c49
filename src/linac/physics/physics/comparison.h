#pragma once
// A sample beside its Monte Carlo reference, figure by figure. A figure is a number that is 0 (or, for chi2, 1) when
// both come from one distribution and grows with their difference; it carries its bootstrap uncertainty and its floor:
// the same figure between random halves of the reference. With N events in the reference a half's noise is that of a
// sample of N/3: for larger samples the floor is generous, for smaller ones tight. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/physics/feature_distance.h"
#include "linac/physics/physics/sample.h"

namespace linac::physics {

struct Figure {
  std::string name{};   // "ks.response"
  std::string title{};  // "response: image energy / primary energy"
  Bin bin{};
  double value = 0;
  double uncertainty = 0;      // standard deviation over bootstrap replicas; 0 without
  double floor = 0;            // mean over the halves; 0 without
  double floor_deviation = 0;  // standard deviation over the halves
};

struct ComparisonOptions {
  bool in_bins = true;                  // also in each bin of energy and each of angle
  int64_t feature_events_max = 50'000;  // of each sample, evenly picked, for fpd and correlation
  int64_t kernel_events_max = 1000;     // and for kpd, whose matrices grow with the square
};

/// Of every observable: ks, wasserstein (in units of the reference's standard deviation), separation, chi2 (per degree
/// of freedom); response.mean and response.width (relative), linearity; profile.z/x/y/radial and spectrum (per primary
/// energy: sum of differences over sum), profile.z.worst (the worst layer of those that hold 95 % of the energy);
/// correlation, fpd, kpd, ssim. Both samples have the same shape, bins and numbers of replicas. Empty samples give an
/// empty list.
std::vector<Figure> compare(const Sample& reference, const Sample& sample, const ComparisonOptions& options = {});

/// Observables of every `stride`-th event, one event a row.
Matrix observable_matrix(const Sample& sample, int64_t stride);

/// The names of compare()'s figures.
std::vector<std::string> figure_names();

/// What goes by a family's name in words: "ks" -> "Kolmogorov-Smirnov distance".
std::string family_title(const std::string& figure_name);

/// "energy 40-70 GeV", "angle 80-100 deg", "" for all events.
std::string bin_title(const Sample& sample, const Bin& bin);

}  // namespace linac::physics
