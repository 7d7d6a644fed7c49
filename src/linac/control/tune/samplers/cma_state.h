#pragma once
// The state of CMA-ES: the normal distribution that a search has moved to, as a fold over what was told. The covariance
// matrix adaptation is that of Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772 (2016), Figure 6 with
// the defaults of Table 1, negative weights included. Points may come from anywhere and in any number: their steps are
// cut as in Hansen, "Injecting external solutions into CMA-ES", arXiv:1110.4181 (2011), eq. (3). A discrete parameter
// keeps a least chance to leave its cell (Hamano et al., "CMA-ES with margin", GECCO 2022, without its shift of the
// mean). A categorical one has a probability for each choice, moved towards those of the better half with a lower
// margin (as in CatCMA, Hamano et al., GECCO 2024). A search that has converged begins anew with twice the population
// (IPOP, Auger and Hansen, CEC 2005).

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "linac/control/tune/draws.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/space.h"

namespace linac::tune {

class CmaState {
 public:
  /// `startup`: so many told trials come before the first generation, and the better half of them gives its mean.
  CmaState(const Space& space, uint64_t seed, size_t startup);

  /// The next trial of told().
  void add(const Trial& trial);
  /// All trials of the startup are in.
  bool begun() const { return begun_; }
  /// Coordinates of a point.
  std::vector<double> draw(const Space& space, const Ask& ask) const;

 private:
  struct Told {
    double loss;  // infinity: infeasible
    int64_t number;
    Eigen::VectorXd x;         // of the numbers
    std::vector<int> choices;  // of the categorical parameters; -1: inactive
  };
  Told told_of(const Trial& trial) const;
  void begin(const Eigen::VectorXd& mean, double step);
  Eigen::VectorXd mean_of_better_half() const;
  void set_weights();
  void update();
  void move_choices(std::span<const Told> best, double rate);
  bool converged() const;
  void restart();
  void decompose();

  uint64_t seed_;
  size_t startup_;
  std::vector<size_t> numbers_, categoricals_;  // parameters
  std::vector<double> cell_widths_;             // of numbers_; 0: continuous
  bool begun_ = false;
  uint32_t restarts_ = 0;
  std::vector<Told> generation_;

  size_t population_ = 0;
  double effective_ = 0;         // mu_eff
  std::vector<double> weights_;  // by rank, those of the worse half negative
  double rate_path_ = 0, rate_one_ = 0, rate_mu_ = 0, rate_step_ = 0, damping_ = 0;

  Eigen::VectorXd mean_, path_, path_step_;
  double step_ = 0;
  Eigen::MatrixXd covariance_, axes_;  // axes: eigenvectors
  Eigen::VectorXd lengths_;            // roots of the eigenvalues
  int64_t generations_ = 0, flat_ = 0;
  std::vector<std::vector<double>> chances_;  // of categoricals_
};

}  // namespace linac::tune
