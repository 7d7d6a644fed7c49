#pragma once
// Events by falling score, equal scores together: all that numbers need which depend on the order of the scores alone.
// Sorted once, walked under any weights. Immutable, thread-safe.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace linac::scores {

/// The weight of the events on either side, so far or altogether.
struct Counts {
  double positives = 0, negatives = 0;
};

class Ranking {
 public:
  /// User error naming the event for a score that is not finite.
  Ranking(std::span<const float> scores, std::span<const uint8_t> is_positive);

  size_t events() const { return event_.size(); }
  /// The numbers of the events, highest score first.
  std::span<const uint32_t> order() const { return event_; }

  Counts totals(std::span<const double> weights) const {
    Counts last;
    walk(weights, [&](const Counts& counts, float) { last = counts; });
    return last;
  }

  /// visit(counts, score) after each group of equal scores, highest first: the weight of the events that score as much
  /// or more. Weights by event; empty: all 1.
  template <class Visit>
  void walk(std::span<const double> weights, const Visit& visit) const {
    std::array<double, 2> sums{};
    for (size_t i = 0; i < event_.size(); ++i) {
      sums[kind_[i] & kPositive] += weights.empty() ? 1.0 : weights[event_[i]];
      if (kind_[i] & kLastOfGroup) visit(Counts{.positives = sums[1], .negatives = sums[0]}, score_[i]);
    }
  }

 private:
  static constexpr uint8_t kPositive = 1, kLastOfGroup = 2;
  std::vector<uint32_t> event_;
  std::vector<uint8_t> kind_;
  std::vector<float> score_;
};

}  // namespace linac::scores
