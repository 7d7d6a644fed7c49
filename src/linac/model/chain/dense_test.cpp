#include "linac/model/chain/dense.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "linac/base/base/rng.h"

namespace linac::chain {
namespace {

TEST(Dense, IsTheProductWithItsBiasOrAnother) {
  constexpr int64_t kInputs = 5, kOutputs = 18, kRows = 7;
  std::vector<float> weights(kInputs * kOutputs), bias(kOutputs), in(kRows * kInputs), other(32, 0.25F);
  fill_normal({.seed = 1}, weights);
  fill_normal({.seed = 2}, bias);
  fill_normal({.seed = 3}, in);
  const Dense dense(kInputs, kOutputs, weights, bias);
  ASSERT_EQ(dense.stride(), 32);
  for (const bool own : {true, false}) {
    std::vector<float> out(kRows * 32);
    dense.apply(in.data(), kInputs, kRows, Activation::kRelu, out.data(), own ? nullptr : other.data());
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t n = 0; n < kOutputs; ++n) {
        double sum = own ? bias[n] : 0.25F;
        for (size_t k = 0; k < kInputs; ++k)
          sum += static_cast<double>(in[r * kInputs + k]) * static_cast<double>(weights[k * kOutputs + n]);
        EXPECT_NEAR(out[r * 32 + n], std::max(0.0, sum), 1e-5) << r << " " << n;
      }
    }
  }
}

}  // namespace
}  // namespace linac::chain
