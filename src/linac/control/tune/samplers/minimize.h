#pragma once
// A local minimum in a box by L-BFGS-B (Byrd, Lu, Nocedal and Zhu, SIAM J. Sci. Comput. 16, 1995), which is LBFGSpp's.
// A search that gets stuck gives the best point that it has seen: it never throws. Pure if the function is.

#include <LBFGSB.h>

#include <Eigen/Core>
#include <cmath>
#include <exception>
#include <utility>

namespace linac::tune {

struct Minimum {
  Eigen::VectorXd x;
  double value = 0;
};

/// `function(x, gradient)` gives the value at x and sets the gradient there.
template <class Function>
Minimum minimize(const Function& function, const Eigen::VectorXd& start, const Eigen::VectorXd& low,
                 const Eigen::VectorXd& high, int iterations_max) {
  Minimum best{start, 0};
  bool first = true;
  const auto observed = [&](const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
    const double value = function(x, gradient);
    if (first || value < best.value) best = {x, value};
    first = false;
    if (!std::isfinite(value)) throw std::runtime_error("not finite");  // ends the search
    return value;
  };
  LBFGSpp::LBFGSBParam<double> settings;
  settings.max_iterations = iterations_max;
  settings.epsilon = settings.epsilon_rel = 1e-5;
  settings.past = 3;
  settings.delta = 1e-7;
  settings.max_linesearch = 20;
  LBFGSpp::LBFGSBSolver<double> solver(settings);
  Eigen::VectorXd x = start;
  double value = 0;
  try {
    solver.minimize(observed, x, value, low, high);
  } catch (const std::exception&) {
    // No step along the direction was good enough, as happens at a minimum's rounding: best has what was found.
  }
  return best;
}

}  // namespace linac::tune
