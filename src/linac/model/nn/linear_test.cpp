#include "linac/model/nn/linear.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <thread>

namespace linac::nn {
namespace {

struct Outcome {
  at::Tensor y, x_gradient, weight_gradient, bias_gradient;
};

at::Tensor numbers(at::IntArrayRef sizes, double step) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return (at::arange(count, at::kFloat) * step + 0.1).sin().reshape(sizes);
}

Outcome run(const std::vector<int64_t>& sizes, int64_t out, bool biased, double slope, Kernels kernels) {
  at::Tensor x = numbers(sizes, 0.7), weight = numbers({sizes.back(), out}, 1.3),
             bias = biased ? numbers({out}, 0.9) : at::Tensor();
  x.set_requires_grad(true), weight.set_requires_grad(true);
  std::vector<at::Tensor> inputs{x, weight};
  if (biased) inputs.push_back(bias.set_requires_grad(true));
  const at::Tensor y = linear(x, weight, bias, kernels, slope);
  const auto gradients = torch::autograd::grad({(y * numbers(y.sizes(), 0.3)).sum()}, inputs);
  return {y.detach(), gradients[0], gradients[1], biased ? gradients[2] : at::Tensor()};
}

void expect_near(const at::Tensor& value, const at::Tensor& wanted, const char* what) {
  ASSERT_EQ(value.defined(), wanted.defined()) << what;
  if (!wanted.defined()) return;
  ASSERT_EQ(value.sizes(), wanted.sizes()) << what;
  EXPECT_LT(((value - wanted).abs().max() / wanted.abs().max()).item<double>(), 1e-5) << what;
}

TEST(Linear, AgreesWithLibTorch) {
  struct Case {
    std::vector<int64_t> sizes;
    int64_t out;
    bool biased;
    double slope;
  };
  for (const Case& c :
       {Case{{300, 28}, 32, true, 0}, Case{{7, 5, 16}, 80, false, 1}, Case{{2, 3, 2, 64}, 48, true, 0.2},
        Case{{1, 1}, 16, true, 1}, Case{{600, 512}, 16, true, 0}, Case{{4, 6}, 10, true, 0}}) {
    SCOPED_TRACE(c.out);
    const Outcome own = run(c.sizes, c.out, c.biased, c.slope, Kernels::kLinac),
                  theirs = run(c.sizes, c.out, c.biased, c.slope, Kernels::kAten);
    expect_near(own.y, theirs.y, "y");
    expect_near(own.x_gradient, theirs.x_gradient, "gradient of x");
    expect_near(own.weight_gradient, theirs.weight_gradient, "gradient of the weights");
    expect_near(own.bias_gradient, theirs.bias_gradient, "gradient of the bias");
  }
}

TEST(Linear, ThreadsChangeNoBit) {
  const auto with_threads = [](int threads) {
    Outcome outcome;
    std::thread([&] {
      at::set_num_threads(threads);
      outcome = run({700, 96}, 160, true, 0, Kernels::kLinac);
    }).join();
    return outcome;
  };
  const Outcome one = with_threads(1), three = with_threads(3);
  EXPECT_TRUE(at::equal(one.y, three.y));
  EXPECT_TRUE(at::equal(one.x_gradient, three.x_gradient));
  EXPECT_TRUE(at::equal(one.weight_gradient, three.weight_gradient));
  EXPECT_TRUE(at::equal(one.bias_gradient, three.bias_gradient));
}

TEST(Linear, NoEventIsNoError) {
  const Outcome none = run({0, 4}, 16, true, 0, Kernels::kLinac);
  EXPECT_EQ(none.y.sizes(), (std::vector<int64_t>{0, 16}));
  EXPECT_EQ(none.weight_gradient.abs().sum().item<double>(), 0);
}

TEST(Linear, ARowDoesNotDependOnTheOthers) {
  const torch::NoGradGuard no_gradient;
  const at::Tensor x = numbers({101, 40}, 0.7), weight = numbers({40, 32}, 1.3);
  const at::Tensor all = linear(x, weight, {}, Kernels::kLinac);
  for (const int64_t row : {0, 57, 100})
    EXPECT_TRUE(at::equal(linear(x.narrow(0, row, 1), weight, {}, Kernels::kLinac), all.narrow(0, row, 1))) << row;
}

}  // namespace
}  // namespace linac::nn
