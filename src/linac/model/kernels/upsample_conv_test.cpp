#include "linac/model/kernels/upsample_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/kernels/blocked_image.h"

namespace linac::kernels {
namespace {

using Floats = std::vector<float>;

Floats random_floats(int64_t count, uint32_t lane) {
  Floats values(static_cast<size_t>(count));
  fill_uniform({.lane = lane}, values);
  for (float& value : values) value = value * 2 - 1;
  return values;
}

const std::vector<UpsampleShape> kShapes = {
    {{3, 2, 3}, 8, {6, 6, 6}, {6, 6, 8}, 8},
    {{3, 4, 5}, 3, {2, 3, 1}, {3, 2, 2}, 4},
    {{2, 2, 2}, 1, {4, 4, 4}, {1, 7, 5}, 9},
    {{1, 3, 2}, 2, {5, 1, 3}, {2, 3, 4}, 1},
};

struct Result {
  Floats out, in_gradient, weight_gradient, bias_gradient;
  bool operator==(const Result&) const = default;
};

struct Problem {
  int64_t events = 16;
  Floats in, weights, out_gradient;
  explicit Problem(const UpsampleShape& shape)
      : in(random_floats(events * cells(shape.in) * shape.in_channels, 1)),
        weights(random_floats(cells(shape.kernel) * shape.in_channels * shape.out_channels, 2)),
        out_gradient(random_floats(events * cells(shape.out()) * shape.out_channels, 3)) {}
};

void two_threads(int64_t count, const std::function<void(int64_t)>& task) {
  std::thread odd([&] {
    for (int64_t i = 1; i < count; i += 2) task(i);
  });
  for (int64_t i = 0; i < count; i += 2) task(i);
  odd.join();
}

Result compute(const UpsampleShape& shape, const Problem& problem, Isa isa, const Parallel& parallel) {
  const BlockedExtent in{shape.in, shape.in_channels}, out{shape.out(), shape.out_channels};
  AlignedFloats x(static_cast<size_t>(in.floats())), y(static_cast<size_t>(out.floats())), dx(x.size()), dy(y.size());
  to_blocked(in, problem.in.data(), problem.events, x.data(), parallel, isa);
  to_blocked(out, problem.out_gradient.data(), problem.events, dy.data(), parallel, isa);
  const auto rows = [](AlignedFloats& values, const BlockedExtent& extent) {
    return
        [&values, extent](int64_t px, int64_t py) { return values.data() + px * extent.plane() + py * extent.row(); };
  };
  const auto reader = [](auto at) { return [at](int64_t px, int64_t py, int64_t, float*) { return at(px, py); }; };
  const auto place = [](auto at) { return [at](int64_t px, int64_t py, int64_t) { return at(px, py); }; };

  Result result{Floats(problem.out_gradient.size()), Floats(problem.in.size()), Floats(problem.weights.size()),
                Floats(static_cast<size_t>(shape.out_channels))};
  const UpsampleConv3d conv(shape, isa);
  ConvWorkspace workspace;
  conv.forward(reader(rows(x, in)), problem.weights.data(), {place(rows(y, out)), {}}, workspace, parallel);
  conv.backward(reader(rows(x, in)), reader(rows(dy, out)), problem.weights.data(), problem.events,
                {{place(rows(dx, in)), {}}, result.weight_gradient.data(), result.bias_gradient.data()}, workspace,
                parallel);
  to_plain(out, y.data(), problem.events, result.out.data(), parallel, isa);
  to_plain(in, dx.data(), problem.events, result.in_gradient.data(), parallel, isa);
  return result;
}

/// Up-sampling, then the direct convolution.
Result reference(const UpsampleShape& shape, const Problem& problem) {
  Extent3 large;
  for (size_t i = 0; i < 3; ++i) large[i] = shape.in[i] * shape.up[i];
  const Conv3dShape conv{large, shape.in_channels, shape.kernel, shape.out_channels};
  Floats enlarged(static_cast<size_t>(problem.events * conv.in_floats())), gradient(enlarged.size());
  const auto each = [&](auto&& use) {
    size_t i = 0;
    for (int64_t event = 0; event < problem.events; ++event)
      for (int64_t x = 0; x < large[0]; ++x)
        for (int64_t y = 0; y < large[1]; ++y)
          for (int64_t z = 0; z < large[2]; ++z)
            for (int64_t c = 0; c < shape.in_channels; ++c, ++i)
              use(i, static_cast<size_t>(
                         (((event * shape.in[0] + x / shape.up[0]) * shape.in[1] + y / shape.up[1]) * shape.in[2] +
                          z / shape.up[2]) *
                             shape.in_channels +
                         c));
  };
  each([&](size_t to, size_t from) { enlarged[to] = problem.in[from]; });
  Result result{Floats(problem.out_gradient.size()), Floats(problem.in.size()), Floats(problem.weights.size()),
                Floats(static_cast<size_t>(shape.out_channels))};
  conv3d_forward(conv, problem.events, enlarged.data(), problem.weights.data(), nullptr, result.out.data(),
                 ConvMethod::kDirect);
  conv3d_backward_data(conv, problem.events, problem.out_gradient.data(), problem.weights.data(), gradient.data(),
                       ConvMethod::kDirect);
  conv3d_backward_weights(conv, problem.events, enlarged.data(), problem.out_gradient.data(),
                          result.weight_gradient.data(), result.bias_gradient.data(), ConvMethod::kDirect);
  each([&](size_t from, size_t to) { result.in_gradient[to] += gradient[from]; });
  return result;
}

void expect_near(const Floats& values, const Floats& truth, const char* what) {
  ASSERT_EQ(values.size(), truth.size());
  double square = 0, largest = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    square += static_cast<double>(truth[i]) * truth[i];
    largest = std::max(largest, std::abs(static_cast<double>(values[i]) - truth[i]));
  }
  EXPECT_LT(largest, 5e-5 * (1 + std::sqrt(square / static_cast<double>(truth.size())))) << what;
}

TEST(UpsampleConv3d, EqualsUpSamplingAndConvolution) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa)) continue;
    for (size_t i = 0; i < kShapes.size(); ++i) {
      SCOPED_TRACE(testing::Message() << to_string(isa) << ", shape " << i);
      const Problem problem(kShapes[i]);
      const Result result = compute(kShapes[i], problem, isa, serially), truth = reference(kShapes[i], problem);
      expect_near(result.out, truth.out, "out");
      expect_near(result.in_gradient, truth.in_gradient, "in_gradient");
      expect_near(result.weight_gradient, truth.weight_gradient, "weight_gradient");
      expect_near(result.bias_gradient, truth.bias_gradient, "bias_gradient");
    }
  }
}

TEST(UpsampleConv3d, ThreadsAndWiderVectorsChangeNoBit) {
  for (const UpsampleShape& shape : kShapes) {
    const Problem problem(shape);
    const Result alone = compute(shape, problem, best_isa(), serially);
    EXPECT_EQ(alone, compute(shape, problem, best_isa(), two_threads));
    if (!has_isa(Isa::kAvx512)) continue;
    EXPECT_EQ(compute(shape, problem, Isa::kAvx2, serially), compute(shape, problem, Isa::kAvx512, serially));
  }
}

}  // namespace
}  // namespace linac::kernels
