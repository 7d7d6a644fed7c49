#include "linac/train/train/loops/class_balance.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/base/test_errors.h"

namespace linac::train {
namespace {

TEST(ClassBalance, GivesEachClassTheSameShare) {
  const std::vector<double> totals{60, 30, 10};
  const std::vector<double> weights = balanced_weights(totals, {}, "label");
  double all = 0;
  for (size_t i = 0; i < totals.size(); ++i) {
    EXPECT_DOUBLE_EQ(weights[i] * totals[i], 100.0 / 3);
    all += weights[i] * totals[i];
  }
  EXPECT_DOUBLE_EQ(all, 100);
}

TEST(ClassBalance, RefusesClassesThatCountNothing) {
  for (const double nothing : {0.0, -2.0, std::numeric_limits<double>::quiet_NaN()}) {
    const std::string message = message_of([&] { balanced_weights({5, nothing}, {"QCD", "W"}, "label"); });
    expect_in(message, {"class 1 (W)", "'label'", "class_weight"});
  }
}

}  // namespace
}  // namespace linac::train
