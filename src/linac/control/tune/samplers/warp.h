#pragma once
// Losses as a Gaussian process likes them: bent by the power of Yeo and Johnson (Biometrika 87, 2000) that makes them
// most like a normal sample (as HEBO does; Cowen-Rivers et al., JAIR 74, 2022), then with mean 0 and variance 1. Order
// is kept. Pure, thread-safe.

#include <Eigen/Core>

namespace linac::tune {

Eigen::VectorXd warped(const Eigen::VectorXd& losses);

}  // namespace linac::tune
