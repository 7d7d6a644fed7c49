#include "linac/model/nn/upsample_conv.h"

#include <vector>

namespace linac::nn {
namespace {

struct Axis {
  int64_t input, up, kernel;
  int64_t output() const { return input * up - kernel + 1; }
  int64_t blocks() const { return (output() + up - 1) / up; }        // q
  int64_t taps() const { return (up + kernel - 2) / up + 1; }        // input cells a phase can reach
  int64_t padding() const { return blocks() + taps() - 1 - input; }  // behind; only phases that are cut off read it
};

// (phases * taps, kernel) matrix of zeros and ones: which input cell a tap of the kernel falls into.
at::Tensor folding_matrix(const Axis& axis) {
  at::Tensor matrix = at::zeros({axis.up * axis.taps(), axis.kernel});
  auto* values = matrix.data_ptr<float>();
  for (int64_t phase = 0; phase < axis.up; ++phase) {
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      const int64_t cell = (phase + tap) / axis.up;
      values[(phase * axis.taps() + cell) * axis.kernel + tap] = 1;
    }
  }
  return matrix;
}

// (kx, ky, kz, in, out) -> (tx ty tz in, px py pz out)
at::Tensor fold_kernel(const at::Tensor& kernel, const std::array<Axis, 3>& axes) {
  at::Tensor folded = kernel;
  // Each turn folds the leading axis into (phase, tap) and moves the pair to the back; after three turns: in, out, px,
  // tx, py, ty, pz, tz.
  for (const Axis& axis : axes) {
    std::vector<int64_t> rest(folded.sizes().begin() + 1, folded.sizes().end());
    folded = at::matmul(folding_matrix(axis).to(kernel.device()), folded.reshape({axis.kernel, -1}));
    std::vector<int64_t> shape{axis.up, axis.taps()};
    shape.insert(shape.end(), rest.begin(), rest.end());
    folded = folded.reshape(shape).movedim(at::IntArrayRef{0, 1}, at::IntArrayRef{-2, -1});
  }
  const int64_t rows = axes[0].taps() * axes[1].taps() * axes[2].taps() * kernel.size(3);
  return folded.permute({3, 5, 7, 0, 2, 4, 6, 1}).reshape({rows, -1});
}

// x_NXYZC -> (N qx qy qz, tx ty tz C): the input cells each block of output cells reads.
at::Tensor gather_taps(const at::Tensor& x_NXYZC, const std::array<Axis, 3>& axes) {
  const at::Tensor padded =
      at::constant_pad_nd(x_NXYZC, {0, 0, 0, axes[2].padding(), 0, axes[1].padding(), 0, axes[0].padding()});
  std::vector<at::Tensor> taps;
  for (int64_t x = 0; x < axes[0].taps(); ++x) {
    for (int64_t y = 0; y < axes[1].taps(); ++y) {
      for (int64_t z = 0; z < axes[2].taps(); ++z) {
        taps.push_back(
            padded.narrow(1, x, axes[0].blocks()).narrow(2, y, axes[1].blocks()).narrow(3, z, axes[2].blocks()));
      }
    }
  }
  const at::Tensor joined = at::cat(taps, -1);
  return joined.reshape({-1, joined.size(-1)});
}

}  // namespace

at::Tensor upsample_conv3d(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const at::Tensor& bias,
                           const std::array<int64_t, 3>& up) {
  std::array<Axis, 3> axes;
  for (size_t i = 0; i < 3; ++i)
    axes[i] = {x_NCXYZ.size(static_cast<int64_t>(i) + 2), up[i], kernel.size(static_cast<int64_t>(i))};
  const int64_t events = x_NCXYZ.size(0), outputs = kernel.size(4);

  at::Tensor product = at::matmul(gather_taps(x_NCXYZ.permute({0, 2, 3, 4, 1}), axes), fold_kernel(kernel, axes));
  // (N, qx, qy, qz, px, py, pz, C) -> (N, qx px, qy py, qz pz, C)
  product =
      product.reshape({events, axes[0].blocks(), axes[1].blocks(), axes[2].blocks(), up[0], up[1], up[2], outputs})
          .permute({0, 1, 4, 2, 5, 3, 6, 7})
          .reshape({events, axes[0].blocks() * up[0], axes[1].blocks() * up[1], axes[2].blocks() * up[2], outputs})
          .narrow(1, 0, axes[0].output())
          .narrow(2, 0, axes[1].output())
          .narrow(3, 0, axes[2].output());
  if (bias.defined()) product = product + bias;
  return product.contiguous().permute({0, 4, 1, 2, 3});
}

}  // namespace linac::nn
