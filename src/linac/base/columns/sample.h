#pragma once
// A few of very many values, each with the same chance, in bounded memory: for quantiles and histograms of columns that
// stream by. The same values in the same order give the same sample. All values, while they are few. One thread.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/base/base/rng.h"

namespace linac::columns {

struct Quantile {
  double share = 0, value = 0;  // so much of the values is no larger
};

class Sample {
 public:
  /// Of 65,536 values the quantile of share q has a rank that is wrong by sqrt(q (1 - q)) / 256 at one standard
  /// deviation: 0.2 % at the median.
  static constexpr size_t kValuesMax = 65536;

  /// `number` tells samples apart.
  explicit Sample(uint32_t number) : key_{.stream = Stream::kSample, .lane = kLane, .step = number} {}

  void add(std::span<const float> values);
  /// Whether all values that were added are in it.
  bool is_whole() const { return seen_ <= static_cast<int64_t>(kValuesMax); }
  int64_t seen() const { return seen_; }
  /// Rising; nothing is added afterwards.
  const std::vector<float>& sorted();
  /// Between its values linearly; none of an empty sample. `shares` between 0 and 1.
  std::vector<Quantile> quantiles(std::span<const double> shares);

 private:
  static constexpr uint32_t kLane = 0x73746174;  // of `linac generate` are small numbers

  double uniform();
  void leap();

  RngKey key_;
  std::vector<float> values_;
  std::vector<float> drawn_;  // random numbers, those from next_ on are not used
  size_t next_ = 0;
  uint64_t drawn_before_ = 0;
  int64_t seen_ = 0, taken_next_ = 0;  // taken_next_: the number of the value that comes into a full sample
  double weight_ = 1;
  bool is_sorted_ = false;
};

}  // namespace linac::columns
