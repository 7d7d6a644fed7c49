#pragma once
// Images sampled anew where an affine map says, as TensorFlow's ImageProjectiveTransformV3 does it, by which Keras's
// layers move images. Pure, thread-safe.
//
// Axes: N events, H rows, W columns, C channels.

#include <ATen/ATen.h>

#include <span>

namespace linac::nn {

/// What the output has in column x and row y lies at column a x + b y + c and row d x + e y + f of the input.
struct AffineMap {
  float a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

/// What lies beyond the edges of (1 2 3): (3 2 1 | 1 2 3 | 3 2 1), (1 2 3 | 1 2 3 | 1 2 3), one value, or the edge.
enum class Beyond { kReflect, kWrap, kConstant, kEdge };
enum class Interpolation { kNearest, kBilinear };

struct Sampling {
  Beyond beyond = Beyond::kReflect;
  Interpolation interpolation = Interpolation::kBilinear;
  float constant = 0;  // of kConstant
};

/// (N, H, W, C) of the same shape as x, by one map an event. Differentiable in x.
at::Tensor sample_images(const at::Tensor& x, std::span<const AffineMap> maps, const Sampling& sampling);

}  // namespace linac::nn
