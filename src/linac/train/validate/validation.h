#pragma once
// The whole judgement of a sample of showers against Monte Carlo (or of Monte Carlo against itself): reads both once,
// computes every figure, looks for collapse and memorisation. Deterministic by seed whatever the threads. Thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "linac/physics/physics/comparison.h"
#include "linac/train/validate/discrimination.h"
#include "linac/train/validate/shower_source.h"

namespace linac::validate {

struct ValidationOptions {
  int energy_bins = 3, angle_bins = 3;  // even ones over the reference's range
  double hit_threshold_gev = 1e-4;      // cells with more count as hit
  int bootstraps = 40, halves = 10;
  uint64_t seed = 1;
  int threads = 1;
  bool classifiers = true;               // the most expensive part
  int64_t classifier_events_max = 1000;  // of each sample, evenly picked
  int64_t neighbours_max = 20'000;       // first showers of each that are searched for copies
};

struct Validation {
  std::unique_ptr<physics::Sample> reference, sample;
  std::vector<physics::Figure> figures;  // physics::compare()'s, and auc.*, duplicates, memorised
  std::vector<std::string> remarks;
  double seconds_reading = 0, seconds_figures = 0, seconds_classifiers = 0;
};

/// The names of the figures that validate() computes under these options.
std::vector<std::string> figure_names(const ValidationOptions& options, bool with_training);

/// A sample's showers with the bins and examples of `reference`: what pictures show beside the two that are compared.
/// Data error if the shapes differ or the source is empty.
std::unique_ptr<physics::Sample> read_beside(const ShowerSource& source, const ShowerSource& reference,
                                             const ValidationOptions& options);

/// Beyond physics::compare(): `auc.observables` and `auc.cells` (a classifier told the samples apart; floor: halves of
/// the reference), `duplicates` (part of the showers that have a closer neighbour in their own sample than 99 % of the
/// reference's have in theirs), and with `training` also `memorised` (the same towards the training showers).
/// `training` may be null. Data error if the shapes differ or a source is empty.
Validation validate(const ShowerSource& reference, const ShowerSource& sample, const ShowerSource* training,
                    const ValidationOptions& options);

}  // namespace linac::validate
