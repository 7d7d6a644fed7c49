#pragma once
// Whether probabilities are frequencies: of the events with probability 0.8, do 80 % belong to the class? Bins of equal
// width over [0, 1], a value on an edge in the lower one (Guo, Pleiss, Sun and Weinberger, "On calibration of modern
// neural networks", ICML 2017). Pure, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/physics/scores/estimate.h"

namespace linac::scores {

constexpr size_t kReliabilityBins = 15;  // as in that paper

struct ReliabilityBin {
  double events = 0;     // the sum of what they count
  double effective = 0;  // effective_events() of them
  /// Mean probability, and share of the events that belong to the class. NaN without events, and where weights below
  /// zero make one of them no share.
  double predicted = 0, observed = 0;
};

/// Probabilities in bins beside their outcomes.
class Reliability {
 public:
  void add(double probability, bool outcome);
  std::vector<ReliabilityBin> bins(Weights weights) const;
  /// Expected calibration error: the mean over the events of |observed - predicted| of their bin. NaN without events,
  /// and where a bin has no shares.
  double error(Weights weights) const;

 private:
  std::vector<float> probability_;
  std::vector<uint8_t> bin_, outcome_;
};

}  // namespace linac::scores
