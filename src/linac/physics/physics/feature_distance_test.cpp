#include "linac/physics/physics/feature_distance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/rng.h"

namespace linac::physics {
namespace {

Matrix normal(Eigen::Index rows, Eigen::Index columns, uint32_t lane) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  fill_normal({.seed = 1, .lane = lane}, values);
  Matrix result(rows, columns);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index j = 0; j < columns; ++j) result(i, j) = values[static_cast<size_t>(i * columns + j)];
  return result;
}

TEST(FrechetDistance, OfGaussiansIsKnown) {
  // Diagonal covariances: |m1 - m2|^2 + sum (s1 - s2)^2.
  const Gaussian a{Vector{{0, 1}}, Vector{{4, 1}}.asDiagonal()}, b{Vector{{3, 1}}, Vector{{1, 9}}.asDiagonal()};
  EXPECT_NEAR(frechet_distance(a, b), 9 + 1 + 4, 1e-9);
  EXPECT_NEAR(frechet_distance(a, a), 0, 1e-9);
}

TEST(FrechetDistance, IsTheSameFromBothSides) {
  const Matrix x = normal(50, 4, 0), y = 2 * normal(60, 4, 1);
  const Gaussian a = gaussian(x, Vector::Ones(50)), b = gaussian(y, Vector::Ones(60));
  EXPECT_NEAR(frechet_distance(a, b), frechet_distance(b, a), 1e-9);
}

TEST(Gaussian, AWeightOfTwoIsTheEventTwice) {
  const Matrix x = normal(5, 3, 0);
  Matrix listed(6, 3);
  listed << x, x.row(0);
  Vector weights = Vector::Ones(5);
  weights[0] = 2;
  const Gaussian a = gaussian(x, weights), b = gaussian(listed, Vector::Ones(6));
  EXPECT_TRUE(a.mean.isApprox(b.mean));
  EXPECT_TRUE(a.covariance.isApprox(b.covariance));
}

TEST(KernelDistance, VanishesOnAverageForOneDistributionAndNotForTwo) {
  const Matrix x = normal(300, 3, 0), y = normal(300, 3, 1), z = normal(300, 3, 2).array() + 1;
  const auto distance = [](const Matrix& p, const Matrix& q) {
    return kernel_distance(kernel_matrix(p, p), kernel_matrix(q, q), kernel_matrix(p, q), Vector::Ones(p.rows()),
                           Vector::Ones(q.rows()));
  };
  EXPECT_LT(std::abs(distance(x, y)), 0.1);
  EXPECT_GT(distance(x, z), 1);
}

TEST(Scaling, AConstantColumnStaysZero) {
  Matrix x = normal(10, 2, 0);
  x.col(1).setConstant(5);
  const Matrix scaled = standardise(x, scaling_of(x));
  EXPECT_NEAR(scaled.col(0).squaredNorm() / 10, 1, 1e-9);
  EXPECT_EQ(scaled.col(1).norm(), 0);
}

TEST(Correlation, OfOppositeColumns) {
  Matrix x = normal(100, 2, 0);
  x.col(1) = -x.col(0);
  const Matrix c = correlation(gaussian(x, Vector::Ones(100)));
  EXPECT_NEAR(c(0, 1), -1, 1e-12);
  EXPECT_NEAR(correlation_distance(c, Matrix::Identity(2, 2)), 1, 1e-12);
}

}  // namespace
}  // namespace linac::physics
