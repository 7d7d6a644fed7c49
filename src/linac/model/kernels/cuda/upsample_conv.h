#pragma once
// Nearest up-sampling and convolution as one operation (model/kernels/upsample_conv.h) on a GPU: the kernel is folded
// into one small kernel a phase, and each phase is a tiled product of matrices that are gathered on the fly.
//
// Images are dense [event][X][Y][Z][channel], weights [kx][ky][kz][in][out], all on the device; any number of channels.
// `workspace` has room for upsample_conv3d_workspace floats. Pure, asynchronous on `stream`, fp32, no atomics.

#include <cstdint>

#include "linac/model/kernels/upsample_conv.h"

namespace linac::kernels::cuda {

bool upsample_conv3d_possible(const UpsampleShape& shape);
int64_t upsample_conv3d_workspace(const UpsampleShape& shape);

/// out = activation(bias + up-sampled in * weights); `bias` may be null; `slope` as in conv3d_forward.
void upsample_conv3d_forward(const UpsampleShape& shape, int64_t events, const float* in, const float* weights,
                             const float* bias, float slope, float* out, float* workspace, void* stream);
/// in_gradient (overwritten) from the gradient before the activation.
void upsample_conv3d_backward_data(const UpsampleShape& shape, int64_t events, const float* out_gradient,
                                   const float* weights, float* in_gradient, float* workspace, void* stream);
/// weight_gradient (overwritten): sums over events and cells.
void upsample_conv3d_backward_weights(const UpsampleShape& shape, int64_t events, const float* in,
                                      const float* out_gradient, float* weight_gradient, float* workspace,
                                      void* stream);

}  // namespace linac::kernels::cuda
