#pragma once
// A density over the unit cube of a space from points in it: a mixture of one product of kernels a point and of the
// uniform density, which is the prior. Kernels: truncated normal for continuous parameters, its mass in a cell for
// discrete ones, that of Aitchison and Aitken (Biometrika 63, 1976) for categorical ones. Where a parameter is inactive
// in a point of the mixture, its factor there is the prior's. One bandwidth a parameter: the points' spread times
// n^(-1/(d+4)) (Scott, "Multivariate density estimation", 1992, eq. 6.42). Not changed once it is made; thread-safe.

#include <span>
#include <vector>

#include "linac/control/tune/draws.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/space.h"

namespace linac::tune {

struct ParzenOptions {
  double width = 1;           // times the points' spread, by Scott's rule
  double width_least = 0.01;  // of the edge of the cube, before a cell's own width
  double width_most = 0.3;
  double prior = 1;   // its weight, where a point has 1
  double kept = 0.8;  // categorical: what a kernel leaves at its own choice, of what a single point would
};

class Parzen {
 public:
  /// `points` lie in `space`; both outlive this. `weights`: one each, above 0.
  Parzen(const Space& space, std::vector<const Trial*> points, const std::vector<double>& weights,
         const ParzenOptions& options);

  /// Coordinates; those of inactive parameters have no meaning.
  std::vector<double> draw(Draws& draws) const;
  /// The logarithm of the density at `unit`, of which `point` says what is active.
  double log_density(const Point& point, std::span<const double> unit) const;

 private:
  struct Edge {
    double width = 0;                // continuous: the standard deviation of the kernel before it is cut
    std::vector<double> log_masses;  // discrete: [cell of the kernel][cell], relative to the prior's mass
    std::vector<double> centres, precisions, logs;  // of each point: its kernel is logs - precision (u - centre)^2
    std::vector<int> cells;                         // discrete, of each point; -1: inactive there
  };
  void make_edge(size_t parameter, const ParzenOptions& options);
  void make_masses(Edge& edge, const Parameter& parameter, double kept) const;
  double spread_of(size_t parameter) const;

  const Space& space_;
  std::vector<const Trial*> points_;
  std::vector<double> shares_;      // running sums over the points, up to 1 - prior
  std::vector<double> log_shares_;  // the prior's last
  std::vector<Edge> edges_;
};

}  // namespace linac::tune
