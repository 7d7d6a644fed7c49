#pragma once
// What parameters do to an objective: a random forest (Breiman, Machine Learning 45, 2001) over the complete trials of
// a history, and the functional analysis of its variance (Hutter, Hoos and Leyton-Brown, "An efficient approach for
// assessing hyperparameter importance", ICML 2014, section 4). Over the unit cube of the space, all points as likely;
// an inactive parameter counts as the middle of its range. Not changed once it is made; thread-safe.

#include <cstdint>
#include <vector>

#include "linac/control/tune/history.h"

namespace linac::tune {

class Forest {
 public:
  /// Of an evenly spread choice of trials where there are many. `objective`: which loss. A function of its arguments.
  Forest(const History& history, size_t objective, uint64_t seed);

  /// Of each parameter the share of the variance that it alone explains, the shares adding up to 1; all 0 where nothing
  /// varies or too few trials are there.
  std::vector<double> importance() const;
  /// The loss by two parameters, averaged over all others: cells * cells values, those of the least `y` first.
  std::vector<double> map(size_t x, size_t y, size_t cells) const;
  bool empty() const { return trees_.empty(); }

 private:
  struct Leaf {
    std::vector<double> low, high;  // of its box
    double value;                   // scaled to 0 ... 1
    double volume() const;
  };
  using Tree = std::vector<Leaf>;
  struct Growing;

  size_t dimensions_;
  double least_ = 0, most_ = 0;
  std::vector<Tree> trees_;
};

}  // namespace linac::tune
