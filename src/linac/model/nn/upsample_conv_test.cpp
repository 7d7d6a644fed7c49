#include "linac/model/nn/upsample_conv.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "linac/model/graph/layers.h"
#include "linac/model/nn/layers.h"

namespace linac::nn {
namespace {

struct Case {
  std::array<int64_t, 3> input, up, kernel;
};

// Up-sampling and convolution one after the other.
at::Tensor plain(const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias,
                 const std::array<int64_t, 3>& up) {
  const at::Tensor enlarged = at::upsample_nearest3d(x, {x.size(2) * up[0], x.size(3) * up[1], x.size(4) * up[2]});
  return at::conv3d(enlarged, kernel.permute({4, 3, 0, 1, 2}), bias);
}

double relative_difference(const at::Tensor& value, const at::Tensor& wanted) {
  return ((value - wanted).abs().max() / wanted.abs().max()).item<double>();
}

TEST(UpsampleConv, EqualsUpSamplingThenConvolutionInValueAndGradients) {
  const Case cases[] = {
      {{9, 9, 8}, {6, 6, 6}, {6, 6, 8}}, {{3, 4, 5}, {2, 3, 1}, {3, 2, 2}}, {{2, 2, 2}, {4, 4, 4}, {1, 7, 5}}};
  for (const Case& c : cases) {
    at::Tensor x = at::randn({2, 3, c.input[0], c.input[1], c.input[2]}).set_requires_grad(true);
    at::Tensor kernel = at::randn({c.kernel[0], c.kernel[1], c.kernel[2], 3, 4}).set_requires_grad(true);
    at::Tensor bias = at::randn({4}).set_requires_grad(true);
    const at::Tensor folded = upsample_conv3d(x, kernel, bias, c.up), wanted = plain(x, kernel, bias, c.up);
    ASSERT_EQ(folded.sizes(), wanted.sizes());
    EXPECT_LT(relative_difference(folded, wanted), 1e-5);
    const at::Tensor weight = at::randn_like(wanted);
    const auto got = torch::autograd::grad({(folded * weight).sum()}, {x, kernel, bias});
    const auto expected = torch::autograd::grad({(wanted * weight).sum()}, {x, kernel, bias});
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LT(relative_difference(got[i], expected[i]), 1e-4) << "gradient " << i;
  }
}

TEST(Layers, EveryLayerOfTheGraphCanBeComputed) {
  for (const std::string& name : graph::layer_names()) {
    if (name == "InputLayer" || name == "ConvolutionChain") continue;  // model/nn/conv_chain.h
    EXPECT_NE(layer_function(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace linac::nn
