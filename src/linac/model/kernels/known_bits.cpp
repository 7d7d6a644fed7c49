#include "linac/model/kernels/known_bits.h"

#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/base/rng.h"
#include "linac/model/kernels/batch_norm.h"
#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/blocked_image.h"
#include "linac/model/kernels/conv3d.h"
#include "linac/model/kernels/max_pool.h"
#include "linac/model/kernels/plain_conv.h"
#include "linac/model/kernels/recurrent.h"
#include "linac/model/kernels/upsample_conv.h"
#include "linac/model/kernels/winograd_conv.h"

namespace linac::kernels {
namespace {

using Floats = std::vector<float>;

// From -1 to 1.
Floats numbers(int64_t count, uint32_t lane) {
  Floats values(static_cast<size_t>(count));
  fill_uniform({.seed = 1, .stream = Stream::kNoise, .lane = lane}, values);
  for (float& value : values) value = 2 * value - 1;
  return values;
}

void take_rounded(const std::vector<double>& values, const TakeFloats& take) {
  Floats rounded(values.begin(), values.end());
  take(rounded);
}

void showers(ConvMethod method, Isa isa, const TakeFloats& take) {
  constexpr int64_t kEvents = 17;
  const Conv3dShape shapes[] = {{{5, 6, 11}, 6, {4, 4, 6}, 6, {2, 2, 1}, {2, 2, 1}},
                                {{4, 5, 9}, 16, {2, 3, 4}, 8, {0, 0, 1}, {0, 0, 1}}};
  for (const Conv3dShape& shape : shapes) {
    const Floats in = numbers(kEvents * shape.in_floats(), 1), weights = numbers(shape.weights(), 2),
                 bias = numbers(shape.out_channels, 3), gradient = numbers(kEvents * shape.out_floats(), 4);
    Floats out(gradient.size()), of_in(in.size()), of_weights(weights.size()), of_bias(bias.size());
    conv3d_forward(shape, kEvents, in.data(), weights.data(), bias.data(), out.data(), method, isa);
    conv3d_backward_data(shape, kEvents, gradient.data(), weights.data(), of_in.data(), method, isa);
    conv3d_backward_weights(shape, kEvents, in.data(), gradient.data(), of_weights.data(), of_bias.data(), method, isa);
    for (Floats* values : {&out, &of_in, &of_weights, &of_bias}) take(*values);
  }
}

void direct(Isa isa, const TakeFloats& take) {
  showers(ConvMethod::kDirect, isa, take);
}

void spectral(Isa isa, const TakeFloats& take) {
  showers(ConvMethod::kSpectral, isa, take);
}

void upsampled(Isa isa, const TakeFloats& take) {
  constexpr int64_t kEvents = 16;
  const UpsampleShape shape{{3, 2, 4}, 5, {2, 3, 2}, {3, 4, 2}, 7};
  const BlockedExtent in{shape.in, shape.in_channels}, out{shape.out(), shape.out_channels};
  const auto blocked = [&](const BlockedExtent& extent, uint32_t lane) {
    AlignedFloats values(static_cast<size_t>(extent.floats()));
    to_blocked(extent, numbers(kEvents * extent.floats() / 16, lane).data(), kEvents, values.data(), serially, isa);
    return values;
  };
  const AlignedFloats x = blocked(in, 1), gradient = blocked(out, 2);
  const Floats weights = numbers(cells(shape.kernel) * shape.in_channels * shape.out_channels, 3);
  AlignedFloats y(gradient.size()), of_x(x.size());
  Floats of_weights(weights.size()), of_bias(static_cast<size_t>(shape.out_channels));
  const auto reader = [](const AlignedFloats& values, const BlockedExtent& extent) -> ReadRows {
    return [&values, &extent](int64_t px, int64_t py, int64_t, float*) {
      return values.data() + px * extent.plane() + py * extent.row();
    };
  };
  const auto sink = [](AlignedFloats& values, const BlockedExtent& extent) -> RowSink {
    return {[&values, &extent](int64_t px, int64_t py, int64_t) {
              return values.data() + px * extent.plane() + py * extent.row();
            },
            {}};
  };
  const UpsampleConv3d conv(shape, isa);
  ConvWorkspace workspace;
  conv.forward(reader(x, in), weights.data(), sink(y, out), workspace, serially);
  conv.backward(reader(x, in), reader(gradient, out), weights.data(), kEvents,
                {sink(of_x, in), of_weights.data(), of_bias.data()}, workspace, serially);
  take(y);
  take(of_x);
  take(of_weights);
  take(of_bias);
}

void few_channels(Isa isa, const TakeFloats& take) {
  constexpr int64_t kEvents = 3;
  const PlainConvShape shape{14, 15, 3, 14, 15, 32, 1, 1};
  const Floats x = numbers(kEvents * shape.in_floats(), 1), kernel = numbers(shape.kernel_floats(), 2),
               bias = numbers(shape.out_channels, 3), gradient = numbers(kEvents * shape.out_floats(), 4);
  Floats y(gradient.size()), of_kernel(kernel.size());
  std::vector<double> of_bias(bias.size());
  rows_forward(shape, x.data(), kEvents, kernel.data(), {bias.data(), 0.25F}, y.data(), isa);
  rows_backward_kernel(shape, x.data(), gradient.data(), kEvents, of_kernel.data(), of_bias.data(), isa);
  take(y);
  take(of_kernel);
  take_rounded(of_bias, take);
}

void many_channels(Isa isa, const TakeFloats& take) {
  constexpr int64_t kEvents = 2;
  const PlainConvShape shape{9, 8, 32, 9, 8, 48, 1, 1}, back = turned_back(shape);
  const Floats x = numbers(kEvents * shape.in_floats(), 1), kernel = numbers(shape.kernel_floats(), 2),
               bias = numbers(shape.out_channels, 3), gradient = numbers(kEvents * shape.out_floats(), 4);
  Floats transformed(static_cast<size_t>(winograd_floats(shape))), sums(transformed.size());
  Floats y(gradient.size()), of_x(x.size()), of_kernel(kernel.size());
  std::vector<double> of_bias(bias.size());
  winograd_kernel(shape, kernel.data(), false, transformed.data());
  winograd_forward(shape, x.data(), kEvents, transformed.data(), {.finish = {bias.data(), 0.25F}, .y = y.data()}, isa);
  winograd_kernel(shape, kernel.data(), true, transformed.data());
  winograd_forward(back, gradient.data(), kEvents, transformed.data(), {.y = of_x.data()}, isa);
  winograd_backward_kernel(shape, x.data(), gradient.data(), kEvents, sums.data(), of_bias.data(), isa);
  winograd_kernel_gradient(shape, sums.data(), of_kernel.data());
  for (Floats* values : {&y, &of_x, &of_kernel}) take(*values);
  take_rounded(of_bias, take);
}

void separable(Isa isa, const TakeFloats& take) {
  constexpr int64_t kEvents = 3;
  const PlainConvShape shape{9, 10, 32, 9, 10, 48, 1, 1}, each{9, 10, 32, 9, 10, 32, 1, 1};
  const Floats x = numbers(kEvents * shape.in_floats(), 1), depthwise = numbers(9 * shape.in_channels, 2),
               pointwise = numbers(shape.in_channels * shape.out_channels, 3), bias = numbers(shape.out_channels, 4);
  Floats y(static_cast<size_t>(kEvents * shape.out_floats())), alone(x.size()), of_depthwise(depthwise.size());
  separable_forward(shape, x.data(), kEvents, depthwise.data(), pointwise.data(), {bias.data(), 0}, y.data(), isa);
  depthwise_forward(each, x.data(), kEvents, depthwise.data(), alone.data(), isa);
  depthwise_backward_kernel(each, x.data(), alone.data(), kEvents, of_depthwise.data(), isa);
  for (Floats* values : {&y, &alone, &of_depthwise}) take(*values);
}

void recurrent(Isa isa, const TakeFloats& take) {
  constexpr int64_t kEvents = 33;
  for (const auto cell : {RecurrentCell::kGruResetAfter, RecurrentCell::kGruResetBefore, RecurrentCell::kLstm}) {
    const RecurrentShape shape{.cell = cell, .steps = 9, .features = 7, .units = 19};
    const Recurrent layer(shape, isa);
    const Floats x = numbers(kEvents * shape.steps * shape.features, 1), kernel = numbers(shape.kernel_floats(), 2),
                 inner = numbers(shape.recurrent_floats(), 3), bias = numbers(shape.bias_floats(), 4),
                 gradient = numbers(kEvents * shape.out_floats(), 5);
    Floats out(gradient.size()), of_x(x.size()), of_kernel(kernel.size()), of_inner(inner.size()), of_bias(bias.size());
    const RecurrentWeights weights{kernel.data(), inner.data(), bias.data()};
    RecurrentWorkspace workspace;
    layer.forward(kEvents, x.data(), nullptr, weights, out.data(), Keep::kForBackward, workspace);
    layer.backward(kEvents, weights, gradient.data(), {of_kernel.data(), of_inner.data(), of_bias.data(), of_x.data()},
                   workspace);
    for (Floats* values : {&out, &of_x, &of_kernel, &of_inner, &of_bias}) take(*values);
  }
}

void pooling(Isa isa, const TakeFloats& take) {
  constexpr int64_t kEvents = 4;
  const PoolShape shape{{1, 13, 12}, {1, 2, 2}, 35};
  for (uint32_t event = 0; event < kEvents; ++event) {
    const Floats x = numbers(shape.in_floats(), event), bias = numbers(shape.channels, kEvents),
                 gradient = numbers(shape.out_floats(), kEvents + 1);
    Floats y(gradient.size()), of_x(x.size());
    std::vector<uint16_t> winners(static_cast<size_t>(shape.winners()));
    std::vector<double> of_bias(bias.size());
    max_pool_forward(shape, x.data(), bias.data(), 0.25F, y.data(), winners.data(), isa);
    max_pool_backward(shape, gradient.data(), y.data(), winners.data(), 0.25F, of_x.data(), of_bias.data(), isa);
    take(y);
    take(of_x);
    take_rounded(of_bias, take);
  }
}

// One way for all instruction sets.
void normalisation(Isa, const TakeFloats& take) {
  constexpr int64_t kRows = 501, kChannels = 19;
  const Floats x = numbers(kRows * kChannels, 1), gradient = numbers(kRows * kChannels, 2),
               gamma = numbers(kChannels, 3), beta = numbers(kChannels, 4);
  std::vector<double> mean(kChannels), variance(kChannels), of_gamma(kChannels), of_beta(kChannels);
  Floats y(x.size()), of_x(x.size());
  channel_moments(x.data(), kRows, mean, variance);
  channel_normalize(x.data(), kRows, mean, gamma, beta, 0.25F, y.data());
  batch_norm_backward(x.data(), gradient.data(), kRows, mean, variance, {gamma, beta, 0.25F},
                      {of_gamma, of_beta, of_x.data()});
  take(y);
  take(of_x);
  for (const auto* values : {&mean, &variance, &of_gamma, &of_beta}) take_rounded(*values, take);
}

constexpr KnownPiece kPieces[] = {
    {"convolutions of showers", direct, 1875470420367082868U, 3171240830145351974U},
    {"convolutions through Fourier transforms", spectral, 414784488996062156U, 17376025194491171741U},
    {"convolutions of up-sampled showers", upsampled, 11069595141551927331U, 5648232295724237936U},
    {"convolutions of few channels", few_channels, 826008252830391056U, 17814617175156801863U},
    {"convolutions of many channels", many_channels, 5442017992871427568U, 11136233539179327948U},
    {"separable convolutions", separable, 4492196237679007510U, 9761388222698498534U},
    {"GRU and LSTM", recurrent, 10586979314534912069U, 10552248564505924703U},
    {"pooling", pooling, 10679378502554567345U, 10679378502554567345U},
    {"batch normalisation", normalisation, 9129977326112950063U, 9129977326112950063U},
};

}  // namespace

std::span<const KnownPiece> known_pieces() {
  return kPieces;
}

}  // namespace linac::kernels
