#pragma once
// Direct 3-D convolutions with few channels (conv3d.h) on a GPU: a tile of the image and of the kernel in shared
// memory, a few cells times a few output channels in the registers of a thread. Plain fp32 with fused multiply-add, no
// TF32.
//
// Images are dense [event][X][Y][Z][channel], weights [kx][ky][kz][in][out], all on the device. Pure, asynchronous on
// `stream`. No atomics: the order of a sum's terms depends on the shape and, for weights, the number of events alone.

#include <cstdint>

#include "linac/model/kernels/conv3d.h"

namespace linac::kernels::cuda {

inline constexpr int64_t kConvChannelsMax = 32;

/// Whether the tiles fit: at most kConvChannelsMax channels, and a kernel of moderate extent.
bool conv3d_possible(const Conv3dShape& shape);

/// out = activation(bias + in * weights); `bias` may be null. Negative results are multiplied by `slope`: 1 for none,
/// 0 for relu.
void conv3d_forward(const Conv3dShape& shape, int64_t events, const float* in, const float* weights, const float* bias,
                    float slope, float* out, void* stream);

/// Floats of the `workspace` that the two functions below want.
int64_t conv3d_workspace(const Conv3dShape& shape, int64_t events);

/// in_gradient (overwritten) from the gradient before the activation.
void conv3d_backward_data(const Conv3dShape& shape, int64_t events, const float* out_gradient, const float* weights,
                          float* in_gradient, float* workspace, void* stream);

/// weight_gradient (overwritten): sums over events and cells.
void conv3d_backward_weights(const Conv3dShape& shape, int64_t events, const float* in, const float* out_gradient,
                             float* weight_gradient, float* workspace, void* stream);

}  // namespace linac::kernels::cuda
