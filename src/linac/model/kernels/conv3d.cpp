#include "linac/model/kernels/conv3d.h"

#include <algorithm>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/blocked_image.h"

namespace linac::kernels {
namespace {

/// A blocked image that a convolution reads from and writes to.
struct Image {
  BlockedExtent extent;
  AlignedFloats values;

  explicit Image(const BlockedExtent& extent) : extent(extent), values(static_cast<size_t>(extent.floats())) {}

  float* rows(int64_t x, int64_t y) { return values.data() + x * extent.plane() + y * extent.row(); }
  ReadRows reader() {
    return [this](int64_t x, int64_t y, int64_t, float*) { return rows(x, y); };
  }
  RowSink sink() {
    return {[this](int64_t x, int64_t y, int64_t) { return rows(x, y); }, {}};
  }
};

}  // namespace

Extent3 Conv3dShape::out() const {
  Extent3 extent;
  for (size_t i = 0; i < 3; ++i) extent[i] = in[i] + before[i] + behind[i] - kernel[i] + 1;
  return extent;
}

int64_t Conv3dShape::in_floats() const {
  return cells(in) * in_channels;
}

int64_t Conv3dShape::out_floats() const {
  return cells(out()) * out_channels;
}

int64_t Conv3dShape::weights() const {
  return cells(kernel) * in_channels * out_channels;
}

double Conv3dShape::flop() const {
  return 2.0 * static_cast<double>(cells(out())) * static_cast<double>(weights());
}

void Conv3dShape::check() const {
  LINAC_CHECK(in_channels > 0 && out_channels > 0);
  for (size_t i = 0; i < 3; ++i) {
    LINAC_CHECK(in[i] > 0 && kernel[i] > 0 && before[i] >= 0 && behind[i] >= 0);
    LINAC_CHECK(out()[i] > 0);
  }
}

std::vector<float> turned_kernel(const Conv3dShape& shape, const float* weights) {
  std::vector<float> turned(static_cast<size_t>(shape.weights()));
  const int64_t taps = cells(shape.kernel), ins = shape.in_channels, outs = shape.out_channels;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t in = 0; in < ins; ++in) {
      for (int64_t out = 0; out < outs; ++out)
        turned[static_cast<size_t>(((taps - 1 - tap) * outs + out) * ins + in)] =
            weights[(tap * ins + in) * outs + out];
    }
  }
  return turned;
}

void conv3d_forward(const Conv3dShape& shape, int64_t events, const float* in, const float* weights, const float* bias,
                    float* out, ConvMethod method, Isa isa) {
  const auto conv = make_conv3d(shape, method, isa);
  Image source({shape.in, shape.in_channels}), result({shape.out(), shape.out_channels});
  ConvWorkspace workspace;
  for (int64_t first = 0; first < events; first += 16) {
    const int64_t here = std::min<int64_t>(16, events - first);
    to_blocked(source.extent, in + first * shape.in_floats(), here, source.values.data(), serially, isa);
    conv->forward(source.reader(), weights, result.sink(), workspace, serially);
    to_plain(result.extent, result.values.data(), here, out + first * shape.out_floats(), serially, isa);
  }
  for (int64_t i = 0; bias != nullptr && i < events * shape.out_floats(); ++i) out[i] += bias[i % shape.out_channels];
}

void conv3d_backward_data(const Conv3dShape& shape, int64_t events, const float* out_gradient, const float* weights,
                          float* in_gradient, ConvMethod method, Isa isa) {
  const auto conv = make_conv3d(shape, method, isa);
  Image source({shape.out(), shape.out_channels}), result({shape.in, shape.in_channels});
  ConvWorkspace workspace;
  for (int64_t first = 0; first < events; first += 16) {
    const int64_t here = std::min<int64_t>(16, events - first);
    to_blocked(source.extent, out_gradient + first * shape.out_floats(), here, source.values.data(), serially, isa);
    conv->backward({}, source.reader(), weights, here, {result.sink()}, workspace, serially);
    to_plain(result.extent, result.values.data(), here, in_gradient + first * shape.in_floats(), serially, isa);
  }
}

void conv3d_backward_weights(const Conv3dShape& shape, int64_t events, const float* in, const float* out_gradient,
                             float* weight_gradient, float* bias_gradient, ConvMethod method, Isa isa) {
  const auto conv = make_conv3d(shape, method, isa);
  Image source({shape.in, shape.in_channels}), gradient({shape.out(), shape.out_channels});
  ConvWorkspace workspace;
  const std::vector<float> weights(static_cast<size_t>(shape.weights()));  // not read: no gradient to the data
  std::vector<float> block_weights(weights.size()), block_bias(static_cast<size_t>(shape.out_channels));
  std::fill_n(weight_gradient, shape.weights(), 0.0F);
  if (bias_gradient != nullptr) std::fill_n(bias_gradient, shape.out_channels, 0.0F);
  for (int64_t first = 0; first < events; first += 16) {
    const int64_t here = std::min<int64_t>(16, events - first);
    to_blocked(source.extent, in + first * shape.in_floats(), here, source.values.data(), serially, isa);
    to_blocked(gradient.extent, out_gradient + first * shape.out_floats(), here, gradient.values.data(), serially, isa);
    conv->backward(source.reader(), gradient.reader(), weights.data(), here,
                   {{}, block_weights.data(), bias_gradient == nullptr ? nullptr : block_bias.data()}, workspace,
                   serially);
    for (size_t i = 0; i < block_weights.size(); ++i) weight_gradient[i] += block_weights[i];
    for (size_t i = 0; bias_gradient != nullptr && i < block_bias.size(); ++i) bias_gradient[i] += block_bias[i];
  }
}

}  // namespace linac::kernels
