#include "linac/control/tune/normal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/control/tune/samplers/gp_model.h"
#include "linac/control/tune/samplers/improvement.h"
#include "linac/control/tune/samplers/warp.h"

namespace linac::tune {
namespace {

TEST(Normal, QuantilesInvertTheDistribution) {
  for (const double p : {1e-12, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-9})
    EXPECT_NEAR(normal_distribution(normal_quantile(p)) / p, 1, 1e-9);
  EXPECT_NEAR(log_normal_distribution(-10.001), log_normal_distribution(-9.999), 0.03);
  EXPECT_NEAR(log_normal_distribution(-40), -804.608442, 1e-5) << "by mpmath";
}

TEST(Improvement, IsContinuousWithItsDerivatives) {
  double before = log_improvement(0, 60, 1).log_value;
  for (double mean = 59.99; mean > -3; mean -= 0.01) {
    const Improvement found = log_improvement(0, mean, 1);
    EXPECT_GT(found.log_value, before) << mean;
    EXPECT_NEAR((found.log_value - before) / -0.01 / found.by_mean, 1, 0.02) << mean;
    const double wider = log_improvement(0, mean, 1 + 1e-6).log_value;
    EXPECT_NEAR((wider - found.log_value) / 1e-6 / found.by_deviation, 1, 0.02) << mean;
    before = found.log_value;
  }
  EXPECT_NEAR(log_improvement(0, 0, 1).log_value, std::log(0.3989422804), 1e-9);
}

TEST(Gp, GradientsAreThoseOfItsValues) {
  GpData data{Eigen::MatrixXd(12, 2), Eigen::VectorXd(12), {false, false}};
  for (int i = 0; i < 12; ++i) {
    data.x.row(i) << std::fmod(0.618 * i, 1), std::fmod(0.755 * i, 1);
    data.y(i) = std::sin(5 * data.x(i, 0)) + data.x(i, 1);
  }
  const GpModel model(data, fit_hyper(data, false));
  const Eigen::Vector2d x(0.37, 0.52);
  const GpModel::At at = model.at(x);
  EXPECT_NEAR(at.mean, std::sin(5 * 0.37) + 0.52, 0.1);
  Eigen::VectorXd means, deviations;
  model.at(Eigen::MatrixXd(x.transpose()), means, deviations);
  EXPECT_NEAR(means(0), at.mean, 1e-10);
  EXPECT_NEAR(deviations(0), at.deviation, 1e-8);
  for (int d = 0; d < 2; ++d) {
    Eigen::Vector2d moved = x;
    moved(d) += 1e-5;
    const GpModel::At other = model.at(moved);
    EXPECT_NEAR((other.mean - at.mean) / 1e-5, at.mean_gradient(d), 1e-3);
    EXPECT_NEAR((other.deviation - at.deviation) / 1e-5, at.deviation_gradient(d), 1e-3);
  }
  EXPECT_NEAR(model.at(Eigen::VectorXd(data.x.row(3))).mean, data.y(3), 1e-3) << "it goes through its points";
}

TEST(Warp, KeepsTheOrderAndBringsOutliersNear) {
  Eigen::VectorXd losses(6);
  losses << 3, 1, 2, 1e6, 5, 4;
  const Eigen::VectorXd y = warped(losses);
  EXPECT_NEAR(y.mean(), 0, 1e-12);
  EXPECT_LT(y(1), y(2));
  EXPECT_LT(y(5), y(4));
  EXPECT_LT(y(4), y(3));
  EXPECT_TRUE(warped(Eigen::VectorXd::Constant(4, 1e308)).isZero(0));
  losses << -1.7e308, 1.7e308, 0, 1, 2, 3;
  EXPECT_TRUE(warped(losses).allFinite());
}

}  // namespace
}  // namespace linac::tune
