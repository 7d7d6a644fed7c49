#pragma once
// The expected hypervolume improvement (Emmerich, Giannakoglou and Naujoks, IEEE Trans. Evol. Comput. 10, 2006): how
// much more a front is expected to cover with a point whose losses are independent normal variables, as a logarithm,
// which tells points apart where the improvement itself is 0 in double precision. What the front does not cover is cut
// into boxes (as Yang, Emmerich, Deutz and Baeck, J. Global Optim. 75, 2019, do), and what a point is expected to cover
// of a box is a product of one-dimensional improvements: exact for any number of losses. Boxes are as many as rows for
// two losses, and a power more for each further one; beyond kBoxesMost the rows that cover most stand for the front.
// Not changed once it is made; thread-safe.

#include <cstddef>
#include <span>
#include <vector>

#include "linac/control/tune/pareto.h"

namespace linac::tune {

class HypervolumeImprovement {
 public:
  static constexpr size_t kBoxesMost = 1000;

  /// `rows`: losses of any trials; those that do not lie before the reference add nothing.
  HypervolumeImprovement(const std::vector<Losses>& rows, const Losses& reference);

  struct At {
    double log_value = 0;
    std::vector<double> by_mean, by_deviation;  // derivatives of it, of each loss
  };
  At at(std::span<const double> means, std::span<const double> deviations) const;

 private:
  struct Side {
    size_t low, high;  // places in edges_; kUnbounded
  };
  void add_boxes(std::vector<const double*> rows, size_t loss, std::vector<Side>& box);
  size_t edge_of(size_t loss, double value) const;

  size_t losses_;
  std::vector<std::vector<double>> edges_;  // of each loss, the reference last
  std::vector<Side> boxes_;                 // one after the other, a side a loss
};

/// Where fronts are measured from: a tenth of the front's range behind its worst losses, as is usual (Ishibuchi, Imada,
/// Setoguchi and Nojima, Evol. Comput. 26, 2018); of the range of all rows where the front has none.
Losses reference_of(const std::vector<Losses>& rows);

}  // namespace linac::tune
