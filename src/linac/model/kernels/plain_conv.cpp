#include "linac/model/kernels/plain_conv.h"

#include <algorithm>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/base/error.h"

namespace linac::kernels {
namespace {

constexpr int64_t kFewChannels = 8;

/// An event's image with the zeros around it.
class Padded {
 public:
  explicit Padded(const PlainConvShape& shape)
      : shape_(shape),
        rows_((shape.out_y - 1) * shape.stride_y + shape.kernel_y),
        row_(((shape.out_x - 1) * shape.stride_x + shape.kernel_x) * shape.in_channels),
        image_(static_cast<size_t>(rows_ * row_)) {}

  void take(const float* x) {
    const int64_t from_row = shape_.in_x * shape_.in_channels, at = shape_.before_x * shape_.in_channels;
    const int64_t rows = std::min(shape_.in_y, rows_ - shape_.before_y), floats = std::min(from_row, row_ - at);
    for (int64_t y = 0; y < rows; ++y)
      std::copy_n(x + y * from_row, floats, image_.data() + (y + shape_.before_y) * row_ + at);
  }
  int64_t row() const { return row_; }
  /// What the kernel's first row meets for the output's row y.
  const float* of(int64_t y) const { return image_.data() + y * shape_.stride_y * row_; }

 private:
  const PlainConvShape& shape_;
  int64_t rows_, row_;
  AlignedFloats image_;
};

}  // namespace

bool rows_take(const PlainConvShape& shape) {
  return shape.in_channels > 0 && shape.in_channels <= kFewChannels && shape.out_channels > 0 &&
         shape.out_channels % 16 == 0 && shape.out_y > 0 && shape.out_x > 0;
}

void rows_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* kernel,
                  const Finish& finish, float* y, Isa isa) {
  LINAC_CHECK(rows_take(shape));
  const MatrixKernels& kernels = matrix_kernels(isa);
  Padded image(shape);
  const int64_t row_floats = shape.out_x * shape.out_channels;
  for (int64_t event = 0; event < events; ++event) {
    image.take(x + event * shape.in_floats());
    for (int64_t row = 0; row < shape.out_y; ++row, y += row_floats) {
      kernels.multiply({.a = image.of(row),
                        .a_row = shape.stride_x * shape.in_channels,
                        .a_segment = image.row(),
                        .a_step = 1,
                        .b = kernel,
                        .b_row = shape.out_channels,
                        .c = y,
                        .c_row = shape.out_channels,
                        .rows = shape.out_x,
                        .columns = shape.out_channels,
                        .segments = shape.kernel_y,
                        .depth = shape.kernel_x * shape.in_channels,
                        .finish = finish});
    }
  }
}

void rows_backward_kernel(const PlainConvShape& shape, const float* x, const float* y_gradient, int64_t events,
                          float* kernel_gradient, double* bias_gradient, Isa isa) {
  LINAC_CHECK(rows_take(shape));
  const MatrixKernels& kernels = matrix_kernels(isa);
  Padded image(shape);
  const int64_t row_floats = shape.out_x * shape.out_channels, depth = shape.kernel_x * shape.in_channels;
  for (int64_t event = 0; event < events; ++event) {
    image.take(x + event * shape.in_floats());
    for (int64_t row = 0; row < shape.out_y; ++row, y_gradient += row_floats) {
      for (int64_t ky = 0; ky < shape.kernel_y; ++ky) {
        kernels.multiply({.a = image.of(row) + ky * image.row(),
                          .a_row = 1,
                          .a_segment = 0,
                          .a_step = shape.stride_x * shape.in_channels,
                          .b = y_gradient,
                          .b_row = shape.out_channels,
                          .c = kernel_gradient + ky * depth * shape.out_channels,
                          .c_row = shape.out_channels,
                          .rows = depth,
                          .columns = shape.out_channels,
                          .segments = 1,
                          .depth = shape.out_x,
                          .add = true});
      }
      add_channel_sums(y_gradient, shape.out_x, shape.out_channels, bias_gradient);
    }
  }
}

bool visits_every_cell(const PlainConvShape& shape) {
  return shape.kernel_y == 3 && shape.kernel_x == 3 && shape.stride_y == 1 && shape.stride_x == 1 && shape.out_y > 0 &&
         shape.out_x > 0;
}

bool fills_vectors(int64_t channels) {
  return channels > 0 && channels % 16 == 0;
}

namespace {

/// Row y of an event's depthwise results, which go to or come from `to`.
DepthwiseRow depthwise_row(const PlainConvShape& shape, const float* x, int64_t y, const float* kernel, float* to) {
  DepthwiseRow row{{}, shape.in_x, shape.before_x, shape.out_x, shape.in_channels, kernel, to};
  for (int64_t ky = 0; ky < 3; ++ky) {
    const int64_t at = y + ky - shape.before_y;
    row.rows[ky] = at >= 0 && at < shape.in_y ? x + at * shape.in_x * shape.in_channels : nullptr;
  }
  return row;
}

}  // namespace

PlainConvShape turned_back(const PlainConvShape& shape) {
  return {shape.out_y, shape.out_x,       shape.out_channels, shape.in_y,
          shape.in_x,  shape.in_channels, 2 - shape.before_y, 2 - shape.before_x};
}

bool depthwise_takes(const PlainConvShape& shape) {
  return visits_every_cell(shape) && fills_vectors(shape.in_channels) && shape.out_channels == shape.in_channels &&
         shape.before_y <= 2 && shape.before_x <= 2;
}

void depthwise_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* kernel, float* y,
                       Isa isa) {
  LINAC_CHECK(depthwise_takes(shape));
  for (int64_t event = 0; event < events; ++event, x += shape.in_floats()) {
    for (int64_t row = 0; row < shape.out_y; ++row, y += shape.out_x * shape.out_channels)
      matrix_kernels(isa).depthwise(depthwise_row(shape, x, row, kernel, y));
  }
}

void depthwise_backward_kernel(const PlainConvShape& shape, const float* x, const float* y_gradient, int64_t events,
                               float* kernel_gradient, Isa isa) {
  LINAC_CHECK(depthwise_takes(shape));
  float* from = const_cast<float*>(y_gradient);  // a row's results are read here
  for (int64_t event = 0; event < events; ++event, x += shape.in_floats()) {
    for (int64_t row = 0; row < shape.out_y; ++row, from += shape.out_x * shape.out_channels)
      matrix_kernels(isa).depthwise_gradient(depthwise_row(shape, x, row, nullptr, from), kernel_gradient);
  }
}

bool separable_takes(const PlainConvShape& shape) {
  return visits_every_cell(shape) && fills_vectors(shape.in_channels) && fills_vectors(shape.out_channels);
}

void separable_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* depthwise,
                       const float* pointwise, const Finish& finish, float* y, Isa isa) {
  LINAC_CHECK(separable_takes(shape));
  const MatrixKernels& kernels = matrix_kernels(isa);
  const int64_t in = shape.in_channels, out = shape.out_channels;
  AlignedFloats between(static_cast<size_t>(shape.out_x * in));
  for (int64_t event = 0; event < events; ++event, x += shape.in_floats()) {
    for (int64_t row = 0; row < shape.out_y; ++row, y += shape.out_x * out) {
      kernels.depthwise(depthwise_row(shape, x, row, depthwise, between.data()));
      kernels.multiply({.a = between.data(),
                        .a_row = in,
                        .a_segment = 0,
                        .a_step = 1,
                        .b = pointwise,
                        .b_row = out,
                        .c = y,
                        .c_row = out,
                        .rows = shape.out_x,
                        .columns = out,
                        .segments = 1,
                        .depth = in,
                        .finish = finish});
    }
  }
}

void add_channel_sums(const float* gradient, int64_t rows, int64_t channels, double* sums) {
  std::vector<float> total(static_cast<size_t>(channels));
  for (int64_t row = 0; row < rows; ++row, gradient += channels) {
    for (int64_t c = 0; c < channels; ++c) total[static_cast<size_t>(c)] += gradient[c];
  }
  for (int64_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(total[static_cast<size_t>(c)]);
}

}  // namespace linac::kernels
