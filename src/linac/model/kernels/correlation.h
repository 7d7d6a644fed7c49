#pragma once
// A convolution in one direction: the forward pass and, with the kernel turned round, the backward pass towards the
// data are the same operation. Plain values.

#include "linac/model/kernels/conv3d.h"

namespace linac::kernels {

/// out(p) = sum over k of in(p + k - offset) * kernel(k), with zeros outside of `in`.
struct Correlation {
  Extent3 in, kernel, out, offset;
  int64_t in_channels, out_channels;

  static Correlation forwards(const Conv3dShape& shape) {
    return {shape.in, shape.kernel, shape.out(), shape.before, shape.in_channels, shape.out_channels};
  }
  /// Under turned_kernel(shape, weights).
  static Correlation backwards(const Conv3dShape& shape) {
    Extent3 offset;
    for (size_t i = 0; i < 3; ++i) offset[i] = shape.kernel[i] - 1 - shape.before[i];
    return {shape.out(), shape.kernel, shape.in, offset, shape.out_channels, shape.in_channels};
  }
};

}  // namespace linac::kernels
