#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linac/model/nn/layers.h"

namespace linac::nn {
namespace {

TEST(StepsUnlike, IsAnyFeatureUnlikeTheValue) {
  const auto nan = std::nanf("");
  const at::Tensor x =
      at::tensor({0.F, 0.F, 0.F, /**/ -0.F, 0.F, -0.F, /**/ 0.F, 0.F, 1.F, /**/ nan, nan, nan, /**/ 2.F, 2.F, 2.F, /**/
                  2.F, 0.F, 2.F})
          .reshape({2, 3, 3});
  for (const float value : {0.F, -0.F, 2.F, -1.F, nan})
    EXPECT_TRUE(at::equal(steps_unlike(x, value), at::any(x != value, -1))) << value;
  EXPECT_TRUE(at::equal(steps_unlike(x.transpose(0, 1), 0), at::any(x.transpose(0, 1) != 0, -1)));
}

}  // namespace
}  // namespace linac::nn
