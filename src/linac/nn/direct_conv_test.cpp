#include "linac/nn/direct_conv.h"

#include <gtest/gtest.h>

#include <thread>

namespace linac::nn {
namespace {

using Padding = std::array<std::array<int64_t, 2>, 3>;

struct Case {
  int64_t in, out;
  std::vector<int64_t> kernel, image;
  Padding padding;
};

const std::vector<Case> kCases = {
    {6, 6, {4, 4, 3}, {4, 5, 7}, {{{2, 2}, {2, 2}, {1, 1}}}},
    {1, 16, {4, 4, 6}, {7, 5, 9}, {{{1, 2}, {1, 2}, {2, 3}}}},
    {16, 8, {3, 2, 4}, {4, 5, 8}, {{{0, 0}, {0, 0}, {1, 1}}}},
    {6, 1, {2, 2, 2}, {5, 4, 7}, {{{0, 0}, {0, 0}, {0, 0}}}},
};

struct Leaves {
  at::Tensor x, kernel, bias;

  static Leaves random(const Case& c, int64_t events) {
    at::manual_seed(7);
    return {at::randn({events, c.image[0], c.image[1], c.image[2], c.in}).permute({0, 4, 1, 2, 3}),
            at::randn({c.kernel[0], c.kernel[1], c.kernel[2], c.in, c.out}), at::randn({c.out})};
  }
  Leaves to(at::ScalarType type) const {
    return {x.to(type).clone().requires_grad_(), kernel.to(type).clone().requires_grad_(),
            bias.to(type).clone().requires_grad_()};
  }
};

at::Tensor library_conv3d(const Leaves& leaves, const Padding& p) {
  const at::Tensor padded = at::constant_pad_nd(leaves.x, {p[2][0], p[2][1], p[1][0], p[1][1], p[0][0], p[0][1]});
  return at::conv3d(padded, leaves.kernel.permute({4, 3, 0, 1, 2}), leaves.bias);
}

void expect_near(const at::Tensor& value, const at::Tensor& truth, const char* what) {
  ASSERT_EQ(value.sizes(), truth.sizes()) << what;
  EXPECT_LT(((value.to(at::kDouble) - truth).norm() / truth.norm()).item<double>(), 2e-6) << what;
}

TEST(DirectConv3d, ValuesAndGradientsEqualTheLibrarysInDoublePrecision) {
  for (size_t i = 0; i < kCases.size(); ++i) {
    for (const int64_t events : {1, 5, 16, 17}) {
      SCOPED_TRACE(testing::Message() << "case " << i << ", " << events << " events");
      const Leaves random = Leaves::random(kCases[i], events);
      const Leaves leaves = random.to(at::kFloat), truth = random.to(at::kDouble);
      const at::Tensor y = direct_conv3d(leaves.x, leaves.kernel, leaves.bias, kCases[i].padding);
      const at::Tensor y_truth = library_conv3d(truth, kCases[i].padding);
      EXPECT_TRUE(y.permute({0, 2, 3, 4, 1}).is_contiguous());
      expect_near(y, y_truth, "y");
      const at::Tensor gradient = at::randn(y.sizes());
      y.backward(gradient);
      y_truth.backward(gradient.to(at::kDouble));
      expect_near(leaves.x.grad(), truth.x.grad(), "x");
      expect_near(leaves.kernel.grad(), truth.kernel.grad(), "kernel");
      expect_near(leaves.bias.grad(), truth.bias.grad(), "bias");
    }
  }
}

TEST(DirectConv3d, ComputesOnlyTheGradientsAskedFor) {
  const Case& c = kCases[0];
  for (int wanted = 0; wanted < 8; ++wanted) {
    const Leaves all = Leaves::random(c, 16).to(at::kFloat), some = Leaves::random(c, 16).to(at::kFloat);
    direct_conv3d(all.x, all.kernel, all.bias, c.padding).sum().backward();
    some.x.requires_grad_((wanted & 1) != 0);
    some.kernel.requires_grad_((wanted & 2) != 0);
    some.bias.requires_grad_((wanted & 4) != 0);
    const at::Tensor y = direct_conv3d(some.x, some.kernel, some.bias, c.padding);
    EXPECT_EQ(y.requires_grad(), wanted != 0);
    if (wanted == 0) continue;
    y.sum().backward();
    ASSERT_EQ(some.x.grad().defined(), (wanted & 1) != 0);
    ASSERT_EQ(some.kernel.grad().defined(), (wanted & 2) != 0);
    ASSERT_EQ(some.bias.grad().defined(), (wanted & 4) != 0);
    EXPECT_TRUE(!some.x.requires_grad() || at::equal(some.x.grad(), all.x.grad()));
    EXPECT_TRUE(!some.kernel.requires_grad() || at::equal(some.kernel.grad(), all.kernel.grad()));
    EXPECT_TRUE(!some.bias.requires_grad() || at::allclose(some.bias.grad(), all.bias.grad(), 1e-5));
  }
}

TEST(DirectConv3d, TakesNoBiasAndAnyStrides) {
  const Case& c = kCases[0];
  const Leaves leaves = Leaves::random(c, 3);
  const at::Tensor without = direct_conv3d(leaves.x, leaves.kernel, at::Tensor(), c.padding);
  const at::Tensor zeros = direct_conv3d(
      leaves.x.contiguous(), leaves.kernel.transpose(0, 1).contiguous().transpose(0, 1), at::zeros({c.out}), c.padding);
  EXPECT_TRUE(at::equal(without, zeros));
  const at::Tensor kernel = leaves.kernel.clone().requires_grad_();
  direct_conv3d(leaves.x, kernel, at::Tensor(), c.padding).sum().backward();
  EXPECT_TRUE(kernel.grad().defined());
}

TEST(DirectConv3d, ThreadsDoNotDisturbEachOther) {
  const Case& c = kCases[2];
  const Leaves leaves = Leaves::random(c, 16);
  const at::Tensor alone = direct_conv3d(leaves.x, leaves.kernel, leaves.bias, c.padding);
  std::vector<at::Tensor> together(4);
  std::vector<std::thread> threads;
  for (at::Tensor& y : together)
    threads.emplace_back([&] { y = direct_conv3d(leaves.x, leaves.kernel, leaves.bias, c.padding); });
  for (std::thread& thread : threads) thread.join();
  for (const at::Tensor& y : together) EXPECT_TRUE(at::equal(y, alone));
}

TEST(DirectConv3d, PaysWhereBlocksAreFull) {
  for (const int64_t events : {12, 16, 24, 28, 32, 48, 100}) EXPECT_TRUE(direct_conv3d_pays(events)) << events;
  for (const int64_t events : {0, 1, 8, 11, 17, 20, 23, 33}) EXPECT_FALSE(direct_conv3d_pays(events)) << events;
}

}  // namespace
}  // namespace linac::nn
