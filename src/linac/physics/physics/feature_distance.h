#pragma once
// How different two samples are in all their observables together: the Fréchet and the kernel physics distance (Kansal
// et al., "Evaluating generative models in high energy physics", Phys. Rev. D 107 (2023) 076017) and the distance of
// the correlation matrices. Features are brought to the reference's mean 0 and standard deviation 1 first
// (standardise()). Events have weights, so bootstrap replicas and halves are only other weights. Pure, thread-safe.

#include <Eigen/Core>
#include <span>

namespace linac::physics {

using Matrix = Eigen::MatrixXd;  // features: one event a row
using Vector = Eigen::VectorXd;

/// Mean and standard deviation of the columns. A constant column gets the standard deviation 1.
struct Scaling {
  Eigen::RowVectorXd mean, deviation;
};
Scaling scaling_of(const Matrix& features);
Matrix standardise(const Matrix& features, const Scaling& scaling);

struct Gaussian {
  Vector mean;
  Matrix covariance;  // unbiased
};
Gaussian gaussian(const Matrix& features, const Vector& weights);

/// Squared Fréchet distance of two Gaussians: |m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^1/2). Of finite samples it is biased
/// upward, by about the same in samples of the same size: compare it with its floor.
double frechet_distance(const Gaussian& a, const Gaussian& b);

/// Polynomial kernel (x.y / d + 1)^4 of every row of a with every row of b.
Matrix kernel_matrix(const Matrix& a, const Matrix& b);
/// Unbiased squared maximum mean discrepancy of two weighted samples from their kernel matrices; may be below 0.
double kernel_distance(const Matrix& aa, const Matrix& bb, const Matrix& ab, const Vector& a_weights,
                       const Vector& b_weights);

/// Correlations of the columns; 0 for a column without spread.
Matrix correlation(const Gaussian& gaussian);
/// Root mean square difference of the elements off the diagonal, 0 to 2.
double correlation_distance(const Matrix& a, const Matrix& b);

}  // namespace linac::physics
