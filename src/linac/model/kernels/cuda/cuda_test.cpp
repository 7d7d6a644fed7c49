// The kernels of a GPU against those of the processor. Where no GPU can be used the tests say so and are skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/cuda/conv3d.h"
#include "linac/model/kernels/cuda/device.h"
#include "linac/model/kernels/cuda/upsample_conv.h"

namespace linac::kernels {
namespace {

using Floats = std::vector<float>;

Floats random_floats(int64_t count, uint32_t lane) {
  Floats values(static_cast<size_t>(count));
  fill_uniform({.lane = lane}, values);
  for (float& value : values) value = value * 2 - 1;
  return values;
}

Floats poisoned(int64_t count) {
  return Floats(static_cast<size_t>(count), std::nanf(""));
}

class OnDevice {
 public:
  explicit OnDevice(const Floats& values)
      : count_(static_cast<int64_t>(values.size())), memory_(cuda::allocate(count_), cuda::release) {
    cuda::copy_to_device(memory_.get(), values.data(), count_);
  }
  explicit OnDevice(int64_t count) : OnDevice(poisoned(count)) {}
  float* data() const { return memory_.get(); }
  Floats values() const {
    Floats values(static_cast<size_t>(count_));
    cuda::copy_to_host(values.data(), memory_.get(), count_);
    return values;
  }

 private:
  int64_t count_;
  std::unique_ptr<float, void (*)(float*)> memory_;
};

// Against the root mean square of the expected values: sums of up to 12584 terms, in two orders.
void expect_near(const Floats& values, const Floats& expected, const char* what) {
  ASSERT_EQ(values.size(), expected.size());
  double square = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::isfinite(values[i])) << what << " " << i;
    square += static_cast<double>(expected[i]) * expected[i];
    largest = std::max(largest, std::abs(static_cast<double>(values[i]) - expected[i]));
  }
  EXPECT_LT(largest, 5e-5 * std::sqrt(square / static_cast<double>(expected.size()))) << what;
}

void apply_slope(Floats& values, float slope) {
  for (float& value : values) value = value >= 0 ? value : slope * value;
}

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no CUDA device, or a build without CUDA: nothing to compare";
  }
};

struct Case {
  Conv3dShape shape;
  int64_t events;
};

// Every group of output channels, several tiles along y and z, channels in several turns, paddings without symmetry or
// wider than the kernel. The last are layers of the 3DGAN.
const std::vector<Case> kCases = {
    {{{5, 6, 7}, 1, {2, 3, 2}, 1, {}, {}}, 1},
    {{{6, 5, 9}, 2, {3, 2, 4}, 3, {1, 0, 2}, {0, 1, 1}}, 5},
    {{{7, 7, 19}, 6, {4, 4, 6}, 6, {2, 2, 1}, {2, 2, 1}}, 2},
    {{{3, 33, 5}, 7, {2, 2, 3}, 19, {0, 1, 0}, {1, 1, 2}}, 3},
    {{{2, 3, 70}, 4, {2, 2, 2}, 5, {3, 2, 3}, {2, 4, 5}}, 3},
    {{{4, 4, 31}, 32, {1, 1, 1}, 32, {}, {}}, 2},
    {{{4, 9, 6}, 31, {3, 3, 3}, 29, {1, 1, 1}, {1, 1, 1}}, 2},
    {{{6, 7, 25}, 1, {5, 6, 6}, 16, {2, 2, 2}, {2, 3, 3}}, 2},
    {{{7, 29, 25}, 16, {5, 6, 6}, 8, {0, 0, 1}, {0, 0, 1}}, 2},
    {{{3, 51, 25}, 6, {2, 2, 2}, 1, {}, {}}, 1},
};

class CudaConv3d : public Cuda, public testing::WithParamInterface<Case> {};

TEST_P(CudaConv3d, EqualsTheProcessorInValueAndGradients) {
  const auto& [shape, events] = GetParam();
  ASSERT_TRUE(cuda::conv3d_possible(shape));
  const Floats in = random_floats(events * shape.in_floats(), 1), weights = random_floats(shape.weights(), 2),
               bias = random_floats(shape.out_channels, 3), gradient = random_floats(events * shape.out_floats(), 4);
  Floats out = poisoned(events * shape.out_floats()), in_gradient = poisoned(events * shape.in_floats()),
         weight_gradient = poisoned(shape.weights());
  conv3d_forward(shape, events, in.data(), weights.data(), bias.data(), out.data(), ConvMethod::kDirect);
  conv3d_backward_data(shape, events, gradient.data(), weights.data(), in_gradient.data(), ConvMethod::kDirect);
  conv3d_backward_weights(shape, events, in.data(), gradient.data(), weight_gradient.data(), nullptr,
                          ConvMethod::kDirect);

  const OnDevice x(in), w(weights), b(bias), dy(gradient), y(events * shape.out_floats()),
      dx(events * shape.in_floats()), dw(shape.weights()), workspace(cuda::conv3d_workspace(shape, events));
  for (const float slope : {1.0F, 0.3F, 0.0F}) {
    Floats expected = out;
    apply_slope(expected, slope);
    cuda::conv3d_forward(shape, events, x.data(), w.data(), b.data(), slope, y.data(), nullptr);
    expect_near(y.values(), expected, "out");
  }
  cuda::conv3d_backward_data(shape, events, dy.data(), w.data(), dx.data(), workspace.data(), nullptr);
  expect_near(dx.values(), in_gradient, "in_gradient");
  cuda::conv3d_backward_weights(shape, events, x.data(), dy.data(), dw.data(), workspace.data(), nullptr);
  const Floats first = dw.values();
  expect_near(first, weight_gradient, "weight_gradient");
  cuda::conv3d_backward_weights(shape, events, x.data(), dy.data(), dw.data(), workspace.data(), nullptr);
  EXPECT_EQ(dw.values(), first) << "the same sums in the same order";
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaConv3d, testing::ValuesIn(kCases));

// The last is the first convolution of the 3DGAN's generator.
const std::vector<UpsampleShape> kUpsampleShapes = {
    {{2, 2, 2}, 1, {1, 1, 1}, {1, 1, 1}, 1}, {{3, 4, 5}, 3, {2, 3, 1}, {3, 2, 2}, 4},
    {{2, 2, 2}, 5, {4, 4, 4}, {1, 7, 5}, 9}, {{3, 1, 2}, 17, {3, 5, 2}, {9, 2, 1}, 33},
    {{2, 3, 2}, 2, {3, 2, 2}, {4, 5, 1}, 2}, {{9, 9, 8}, 8, {6, 6, 6}, {6, 6, 8}, 8},
};

// Up-sampling as a matrix of zeros and ones, times an image or, turned, times a gradient.
struct Enlargement {
  UpsampleShape shape;

  Conv3dShape convolution() const {
    Extent3 large;
    for (size_t i = 0; i < 3; ++i) large[i] = shape.in[i] * shape.up[i];
    return {large, shape.in_channels, shape.kernel, shape.out_channels, {}, {}};
  }
  template <class Visit>
  void each(int64_t events, const Visit& visit) const {
    const Extent3 large = convolution().in, small = shape.in, up = shape.up;
    int64_t i = 0;
    for (int64_t event = 0; event < events; ++event)
      for (int64_t x = 0; x < large[0]; ++x)
        for (int64_t y = 0; y < large[1]; ++y)
          for (int64_t z = 0; z < large[2]; ++z)
            for (int64_t c = 0; c < shape.in_channels; ++c, ++i)
              visit(
                  static_cast<size_t>(i),
                  static_cast<size_t>((((event * small[0] + x / up[0]) * small[1] + y / up[1]) * small[2] + z / up[2]) *
                                          shape.in_channels +
                                      c));
  }
};

class CudaUpsampleConv3d : public Cuda, public testing::WithParamInterface<UpsampleShape> {};

TEST_P(CudaUpsampleConv3d, EqualsUpSamplingAndConvolutionOnTheProcessor) {
  constexpr int64_t kEvents = 2;
  const UpsampleShape& shape = GetParam();
  ASSERT_TRUE(cuda::upsample_conv3d_possible(shape));
  const Enlargement enlargement{shape};
  const Conv3dShape conv = enlargement.convolution();
  const Floats in = random_floats(kEvents * cells(shape.in) * shape.in_channels, 1),
               weights = random_floats(conv.weights(), 2), bias = random_floats(shape.out_channels, 3),
               gradient = random_floats(kEvents * conv.out_floats(), 4);
  Floats large(static_cast<size_t>(kEvents * conv.in_floats())), large_gradient = large, in_gradient(in.size()),
                                                                 out = poisoned(kEvents * conv.out_floats()),
                                                                 weight_gradient = poisoned(conv.weights());
  enlargement.each(kEvents, [&](size_t to, size_t from) { large[to] = in[from]; });
  conv3d_forward(conv, kEvents, large.data(), weights.data(), bias.data(), out.data(), ConvMethod::kDirect);
  conv3d_backward_data(conv, kEvents, gradient.data(), weights.data(), large_gradient.data(), ConvMethod::kDirect);
  enlargement.each(kEvents, [&](size_t from, size_t to) { in_gradient[to] += large_gradient[from]; });
  conv3d_backward_weights(conv, kEvents, large.data(), gradient.data(), weight_gradient.data(), nullptr,
                          ConvMethod::kDirect);

  const OnDevice x(in), w(weights), b(bias), dy(gradient), y(kEvents * conv.out_floats()),
      dx(static_cast<int64_t>(in.size())), dw(conv.weights()), workspace(cuda::upsample_conv3d_workspace(shape));
  for (const float slope : {1.0F, 0.0F}) {
    Floats expected = out;
    apply_slope(expected, slope);
    cuda::upsample_conv3d_forward(shape, kEvents, x.data(), w.data(), b.data(), slope, y.data(), workspace.data(),
                                  nullptr);
    expect_near(y.values(), expected, "out");
  }
  cuda::upsample_conv3d_backward_data(shape, kEvents, dy.data(), w.data(), dx.data(), workspace.data(), nullptr);
  expect_near(dx.values(), in_gradient, "in_gradient");
  cuda::upsample_conv3d_backward_weights(shape, kEvents, x.data(), dy.data(), dw.data(), workspace.data(), nullptr);
  expect_near(dw.values(), weight_gradient, "weight_gradient");
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaUpsampleConv3d, testing::ValuesIn(kUpsampleShapes));

TEST(CudaDevice, ItsAbsenceIsAnEnvironmentErrorThatSaysWhatToDo) {
  if (cuda::device_count() > 0) GTEST_SKIP() << "a GPU is there";
  try {
    cuda::need_device();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_NE(std::string(error.what()).find("[cuda]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace linac::kernels
