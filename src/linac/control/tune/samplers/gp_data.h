#pragma once
// What Gaussian processes (gp_model.h) learn from a history: a row of features for each trial and, for each objective,
// its losses, bent (warp.h). Infeasible trials count as the worst one. Running trials count as if they had given what
// the process expects of them (the Kriging believer of Ginsbourger, Le Riche and Carraro, 2010).
//
// Beyond kGpPointsMax trials a process sees the best half of so many and an even choice among the others. Its
// hyper-parameters are looked for anew at every trial up to kFitEach, then at every kFitEvery-th share of the trials.

#include <functional>
#include <vector>

#include "linac/control/tune/history.h"
#include "linac/control/tune/sampler.h"
#include "linac/control/tune/samplers/gp_model.h"

namespace linac::tune {

constexpr size_t kGpPointsMax = 250;     // of a process
constexpr size_t kGpFitPointsMax = 150;  // of the search for hyper-parameters

/// How many trials come before the first process: the study's choice, or some for the space.
size_t gp_startup(const Space& space, const SamplerSettings& settings);

/// A feature for each parameter: its coordinate, or of a categorical one its choice; where it is inactive the middle,
/// or -1.
Eigen::VectorXd features_of(const Space& space, const Point& point, const std::vector<double>& unit);
/// Which features are categorical.
std::vector<bool> categorical_features(const Space& space);

/// Of the first `count` told trials at most `most`, one an objective; all have the same rows.
std::vector<GpData> gp_data(const History& history, size_t count, size_t most);

/// Hyper-parameters of some processes, as long as they hold. One thread.
class KeptHypers {
 public:
  /// `data`: of the first `count` told trials.
  const std::vector<GpHyper>& of(const History& history, bool noisy,
                                 const std::function<std::vector<GpData>(size_t count)>& data);

 private:
  std::vector<GpHyper> hypers_;
  size_t count_ = 0;
  uint64_t fingerprint_ = 0;
};

/// A process an objective, running trials among what they have learned.
std::vector<GpModel> gp_models(const History& history, bool noisy, KeptHypers& kept);

}  // namespace linac::tune
