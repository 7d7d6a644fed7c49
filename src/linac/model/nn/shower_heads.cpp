#include "linac/model/nn/shower_heads.h"

#include <numbers>

namespace linac::nn {
namespace {

constexpr double kEmptyAngle = 100;
constexpr double kSmallestSquare = 1e-7;  // keeps the root's slope finite where a layer lies at the barycentre

at::Tensor centres(const at::Tensor& image_NXYZ, int64_t axis) {
  return at::arange(image_NXYZ.size(axis), image_NXYZ.options().dtype(at::kFloat)) + 0.5;
}

}  // namespace

at::Tensor shower_sum(const at::Tensor& image_NXYZ) {
  return image_NXYZ.sum({1, 2, 3}).unsqueeze(1);
}

at::Tensor shower_angle(const at::Tensor& image_NXYZ) {
  const at::Tensor x = centres(image_NXYZ, 1), y = centres(image_NXYZ, 2), z = centres(image_NXYZ, 3);
  const at::Tensor xz = image_NXYZ.sum(2), yz = image_NXYZ.sum(1);  // (N, X, Z), (N, Y, Z)
  const at::Tensor layers = xz.sum(1);                              // (N, Z)
  const at::Tensor total = layers.sum(1);                           // (N)
  const at::Tensor empty = total <= 0, empty_layer = layers <= 0;
  const at::Tensor safe_total = at::where(empty, at::ones_like(total), total);
  const at::Tensor safe_layers = at::where(empty_layer, at::ones_like(layers), layers);

  const at::Tensor x_layer_sum = at::einsum("nxz,x->nz", {xz, x}), y_layer_sum = at::einsum("nyz,y->nz", {yz, y});
  const at::Tensor x_mean = (x_layer_sum.sum(1) / safe_total).unsqueeze(1),
                   y_mean = (y_layer_sum.sum(1) / safe_total).unsqueeze(1);
  const at::Tensor z_mean = (at::matmul(layers, z) / safe_total).unsqueeze(1);
  const at::Tensor dx = x_layer_sum / safe_layers - x_mean, dy = y_layer_sum / safe_layers - y_mean;
  const at::Tensor dz = z.unsqueeze(0) - z_mean;

  const at::Tensor length = at::sqrt(at::clamp_min(dx * dx + dz * dz, kSmallestSquare));
  const at::Tensor slope = dy / length;
  const at::Tensor angle = std::numbers::pi / 2 - at::atan(at::where(dz < 0, -slope, slope));
  const at::Tensor weight = at::where(empty_layer, at::zeros_like(layers), z.unsqueeze(0).expand_as(layers));
  const at::Tensor weight_sum = weight.sum(1);
  const at::Tensor safe_weight = at::where(empty, at::ones_like(weight_sum), weight_sum);
  const at::Tensor mean = (weight * angle).sum(1) / safe_weight;
  return at::where(empty, at::full_like(mean, kEmptyAngle), mean).unsqueeze(1);
}

}  // namespace linac::nn
