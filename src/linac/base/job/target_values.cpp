#include "linac/base/job/target_values.h"

#include <algorithm>
#include <array>
#include <limits>

namespace linac::job {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr std::array kOfProbabilities{"binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy",
                                      "categorical_focal_crossentropy", "kl_divergence"};

}  // namespace

bool has_target(const std::string& loss) {
  return loss != kOutputLoss && loss != kOutputMetric && loss != kNoLoss;
}

bool takes_label_smoothing(const std::string& loss) {
  return loss == "bce" || (loss.ends_with("crossentropy") && !loss.starts_with("sparse"));
}

ValueRange target_values(const std::string& loss, int64_t classes) {
  if (loss == "sparse_categorical_crossentropy") return {0, static_cast<double>(classes - 1), true};
  if (std::find(kOfProbabilities.begin(), kOfProbabilities.end(), loss) != kOfProbabilities.end()) return {0, 1, false};
  if (loss == "hinge" || loss == "squared_hinge") return {-1, 1, false};
  if (loss == "poisson") return {0, kAny, false};
  return {-kAny, kAny, false};
}

}  // namespace linac::job
