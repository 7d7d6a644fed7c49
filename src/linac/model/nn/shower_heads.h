#pragma once
// The two analytic heads of the 3DGAN discriminator, differentiable: what a physicist would measure in the image. The
// definitions are those of the openlab 3DGAN ("3D convolutional GAN for fast simulation", CHEP 2018). Thread-safe.

#include <ATen/ATen.h>

namespace linac::nn {

/// Sum over the cells: (N, 1) from (N, X, Y, Z), in the image's unit.
at::Tensor shower_sum(const at::Tensor& image_NXYZ);

/// Polar angle in rad, measured with cells as the unit of length: (N, 1) from (N, X, Y, Z); 100 where an image is
/// empty. The barycentre of each layer against that of the image gives an angle; the mean over the layers with energy
/// is weighted by depth.
at::Tensor shower_angle(const at::Tensor& image_NXYZ);

}  // namespace linac::nn
