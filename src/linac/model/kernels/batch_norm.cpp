#include "linac/model/kernels/batch_norm.h"

#include <algorithm>
#include <vector>

#include "linac/base/base/float_clones.h"

namespace linac::kernels {
namespace {

constexpr int64_t kRowsInLine = 16;    // a line of 16 rows fills whole vectors whatever the number of channels
constexpr int64_t kLinesInFloat = 32;  // lines added in float before they go to double

// Per-channel values repeated over a line.
std::vector<float> line_of(std::span<const float> channels) {
  std::vector<float> line;
  for (int64_t row = 0; row < kRowsInLine; ++row) line.insert(line.end(), channels.begin(), channels.end());
  return line;
}

// Adds the line's columns to their channels, from the first row to the last.
void fold(const std::vector<float>& line, std::span<double> sums) {
  for (size_t i = 0; i < line.size(); ++i) sums[i % sums.size()] += line[i];
}

LINAC_FLOAT_CLONES
void add_squares(const float* __restrict__ x, const float* __restrict__ mean, int64_t size, float* __restrict__ sum) {
  for (int64_t i = 0; i < size; ++i) {
    const float difference = x[i] - mean[i];
    sum[i] += difference * difference;
  }
}

LINAC_FLOAT_CLONES
void add_values(const float* __restrict__ x, int64_t size, float* __restrict__ sum) {
  for (int64_t i = 0; i < size; ++i) sum[i] += x[i];
}

LINAC_FLOAT_CLONES
void add_products(const float* __restrict__ x, const float* __restrict__ mean, const float* __restrict__ gradient,
                  int64_t size, float* __restrict__ sum, float* __restrict__ sum_product) {
  for (int64_t i = 0; i < size; ++i) {
    sum[i] += gradient[i];
    sum_product[i] += gradient[i] * (x[i] - mean[i]);
  }
}

LINAC_FLOAT_CLONES
void normalize_line(const float* __restrict__ x, const float* __restrict__ mean, const float* __restrict__ scale,
                    const float* __restrict__ shift, int64_t size, float* __restrict__ y) {
  for (int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean[i]) * scale[i] + shift[i];
}

struct NormalLines {
  const float *mean, *scale, *shift;
};

LINAC_FLOAT_CLONES
void normalize_and_bend_line(const float* __restrict__ x, const NormalLines& line, float slope, int64_t size,
                             float* __restrict__ y) {
  const float* __restrict__ mean = line.mean, * __restrict__ scale = line.scale, * __restrict__ shift = line.shift;
  for (int64_t i = 0; i < size; ++i) {
    const float normal = (x[i] - mean[i]) * scale[i] + shift[i];
    y[i] = normal > 0 ? normal : normal * slope + 0.0F;  // no -0
  }
}

// The gradient of what is bent from that of the result.
LINAC_FLOAT_CLONES
void unbend_line(const float* __restrict__ x, const float* __restrict__ gradient, const NormalLines& line, float slope,
                 int64_t size, float* __restrict__ out) {
  const float* __restrict__ mean = line.mean, * __restrict__ scale = line.scale, * __restrict__ shift = line.shift;
  for (int64_t i = 0; i < size; ++i) {
    const float normal = (x[i] - mean[i]) * scale[i] + shift[i];
    out[i] = normal > 0 ? gradient[i] : gradient[i] * slope;
  }
}

struct GradientLines {
  const float *mean, *gradient_mean, *slope, *factor;
};

LINAC_FLOAT_CLONES
void gradient_line(const float* __restrict__ x, const float* __restrict__ gradient, const GradientLines& line,
                   int64_t size, float* __restrict__ out) {
  const float* __restrict__ mean = line.mean, * __restrict__ gradient_mean = line.gradient_mean, * __restrict__ slope = line.slope, * __restrict__ factor = line.factor;
  for (int64_t i = 0; i < size; ++i)
    out[i] = ((gradient[i] - gradient_mean[i]) - (x[i] - mean[i]) * slope[i]) * factor[i];
}

// Calls line(offset, size) for each line of rows, and flush() after every kLinesInFloat of them and at the end.
template <class Line, class Flush>
void for_each_line(int64_t rows, int64_t channels, const Line& line, const Flush& flush) {
  const int64_t size = rows * channels, step = kRowsInLine * channels;
  int64_t lines = 0;
  for (int64_t offset = 0; offset < size; offset += step) {
    line(offset, std::min(step, size - offset));
    if (++lines % kLinesInFloat == 0) flush();
  }
  flush();
}

}  // namespace

void channel_moments(const float* x, int64_t rows, std::span<double> mean, std::span<double> variance) {
  const auto channels = static_cast<int64_t>(mean.size());
  std::vector<float> line(static_cast<size_t>(kRowsInLine * channels));
  const auto total = [&](std::span<double> sums, const auto& add) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for_each_line(rows, channels, add, [&] {
      fold(line, sums);
      std::fill(line.begin(), line.end(), 0.0F);
    });
    for (double& sum : sums) sum /= static_cast<double>(rows);
  };
  total(mean, [&](int64_t offset, int64_t size) { add_values(x + offset, size, line.data()); });
  const std::vector<float> mean_line = line_of(std::vector<float>(mean.begin(), mean.end()));
  total(variance, [&](int64_t offset, int64_t size) { add_squares(x + offset, mean_line.data(), size, line.data()); });
}

void channel_normalize(const float* x, int64_t rows, std::span<const double> mean, std::span<const float> scale,
                       std::span<const float> shift, float negative_slope, float* y) {
  const std::vector<float> mean_line = line_of(std::vector<float>(mean.begin(), mean.end()));
  const std::vector<float> scale_line = line_of(scale), shift_line = line_of(shift);
  for_each_line(
      rows, static_cast<int64_t>(scale.size()),
      [&](int64_t offset, int64_t size) {
        if (negative_slope == 1)
          return normalize_line(x + offset, mean_line.data(), scale_line.data(), shift_line.data(), size, y + offset);
        const NormalLines lines{mean_line.data(), scale_line.data(), shift_line.data()};
        normalize_and_bend_line(x + offset, lines, negative_slope, size, y + offset);
      },
      [] {});
}

void batch_norm_backward(const float* x, const float* y_gradient, int64_t rows, std::span<const double> mean,
                         std::span<const double> inverse_deviation, const BatchNormSettings& settings,
                         const BatchNormGradients& out) {
  const size_t channels = mean.size();
  const auto line_floats = static_cast<size_t>(kRowsInLine) * channels;
  std::vector<float> factor(channels);
  for (size_t i = 0; i < channels; ++i) factor[i] = static_cast<float>(settings.gamma[i] * inverse_deviation[i]);
  const std::vector<float> mean_line = line_of(std::vector<float>(mean.begin(), mean.end())),
                           factor_line = line_of(factor), shift_line = line_of(settings.beta);
  std::vector<float> sum(line_floats), sum_product(line_floats), unbent(line_floats);
  const auto gradient_at = [&](int64_t offset, int64_t size) -> const float* {
    if (settings.negative_slope == 1) return y_gradient + offset;
    unbend_line(x + offset, y_gradient + offset, {mean_line.data(), factor_line.data(), shift_line.data()},
                settings.negative_slope, size, unbent.data());
    return unbent.data();
  };
  std::fill(out.gamma.begin(), out.gamma.end(), 0.0);
  std::fill(out.beta.begin(), out.beta.end(), 0.0);
  for_each_line(
      rows, static_cast<int64_t>(channels),
      [&](int64_t offset, int64_t size) {
        add_products(x + offset, mean_line.data(), gradient_at(offset, size), size, sum.data(), sum_product.data());
      },
      [&] {
        fold(sum, out.beta);
        fold(sum_product, out.gamma);
        std::fill(sum.begin(), sum.end(), 0.0F);
        std::fill(sum_product.begin(), sum_product.end(), 0.0F);
      });
  // x_gradient = gamma s ((g - mean(g)) - (x - mean) s mean(g xhat)) with xhat = (x - mean) s
  std::vector<float> gradient_mean(channels), slope(channels);
  for (size_t i = 0; i < channels; ++i) out.gamma[i] *= inverse_deviation[i];
  std::vector<double> gamma(out.gamma.begin(), out.gamma.end()), beta(out.beta.begin(), out.beta.end());
  const auto n = static_cast<double>(settings.join_sums ? settings.join_sums(gamma, beta) : rows);
  for (size_t i = 0; i < channels; ++i) {
    gradient_mean[i] = static_cast<float>(beta[i] / n);
    slope[i] = static_cast<float>(inverse_deviation[i] * gamma[i] / n);
  }
  const std::vector<float> gradient_mean_line = line_of(gradient_mean), slope_line = line_of(slope);
  const GradientLines lines{mean_line.data(), gradient_mean_line.data(), slope_line.data(), factor_line.data()};
  for_each_line(
      rows, static_cast<int64_t>(channels),
      [&](int64_t offset, int64_t size) {
        gradient_line(x + offset, gradient_at(offset, size), lines, size, out.x + offset);
      },
      [] {});
}

}  // namespace linac::kernels
