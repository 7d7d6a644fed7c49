#include "linac/physics/scores/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

constexpr double kRounding = 1e-6;

bool is_share(double value) {
  return value >= -kRounding && value <= 1 + kRounding;
}

}  // namespace

void Reliability::add(double probability, bool outcome) {
  const double place = std::ceil(probability * static_cast<double>(kReliabilityBins)) - 1;
  bin_.push_back(static_cast<uint8_t>(std::clamp(place, 0.0, static_cast<double>(kReliabilityBins - 1))));
  probability_.push_back(static_cast<float>(probability));
  outcome_.push_back(outcome ? 1 : 0);
}

std::vector<ReliabilityBin> Reliability::bins(Weights weights) const {
  LINAC_CHECK(weights.size() == bin_.size());
  std::vector<ReliabilityBin> bins(kReliabilityBins);
  for (size_t event = 0; event < bin_.size(); ++event) {
    ReliabilityBin& bin = bins[bin_[event]];
    bin.events += weights[event];
    bin.effective += weights[event] * weights[event];  // for now the squares alone
    bin.predicted += weights[event] * probability_[event];
    bin.observed += weights[event] * outcome_[event];
  }
  for (ReliabilityBin& bin : bins) {
    bin.effective = bin.effective > 0 ? bin.events * bin.events / bin.effective : 0;
    bin.predicted /= bin.events;
    bin.observed /= bin.events;
    if (is_share(bin.predicted) && is_share(bin.observed) && bin.events > 0) continue;
    bin.predicted = bin.observed = std::numeric_limits<double>::quiet_NaN();
  }
  return bins;
}

double Reliability::error(Weights weights) const {
  double events = 0, sum = 0;
  for (const ReliabilityBin& bin : bins(weights)) {
    if (bin.events == 0) continue;
    events += bin.events;
    sum += bin.events * std::abs(bin.observed - bin.predicted);
  }
  return sum / events;
}

}  // namespace linac::scores
