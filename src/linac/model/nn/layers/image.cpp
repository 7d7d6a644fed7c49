// Layers that cut and resize images, and those that vary them in training: one draw an event for each number of
// Keras's, in Keras's order.
#include "linac/model/graph/layers/image.h"

#include <cmath>
#include <numbers>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/nn/dropout.h"
#include "linac/model/nn/image_sampling.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

/// In [0, 1), one an event.
at::Tensor draw(const LayerCall& call, uint64_t number = 0) {
  at::Tensor numbers = draw_uniform(call.dropout_key, call.x().size(0), number);
  if (call.options.dropout_masks != nullptr) call.options.dropout_masks->push_back(numbers);
  return numbers;
}

at::Tensor draw_between(const LayerCall& call, double low, double high, uint64_t number = 0) {
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  return draw(call, number) * (to - from) + from;
}

at::Tensor draw_factor(const LayerCall& call, const char* factor, double offset = 0, uint64_t number = 0) {
  const graph::Range range = graph::factor_range(call.node, factor);
  return draw_between(call, offset + range.low, offset + range.high, number);
}

/// (N) -> (N, 1, 1, 1) where the images are.
at::Tensor beside_images(const LayerCall& call, const at::Tensor& numbers) {
  return numbers.view({-1, 1, 1, 1}).to(call.x().device());
}

// One draw decides on both directions, as in Keras 3.
at::Tensor random_flip(const LayerCall& call) {
  if (!call.training()) return call.x();
  const at::Tensor flipped = beside_images(call, draw(call)) <= 0.5;
  const std::string mode = graph::text(call.node, "mode", "horizontal_and_vertical");
  std::vector<int64_t> axes;
  if (mode != "vertical") axes.push_back(2);
  if (mode != "horizontal") axes.push_back(1);
  return at::where(flipped, at::flip(call.x(), axes), call.x());
}

Sampling sampling_of(const graph::Node& node) {
  const std::string fill = graph::text(node, "fill_mode", "reflect");
  return {
      fill == "reflect"   ? Beyond::kReflect
      : fill == "wrap"    ? Beyond::kWrap
      : fill == "nearest" ? Beyond::kEdge
                          : Beyond::kConstant,
      graph::text(node, "interpolation", "bilinear") == "nearest" ? Interpolation::kNearest : Interpolation::kBilinear,
      static_cast<float>(graph::number(node, "fill_value", 0))};
}

template <class MapOf>
at::Tensor move_images(const LayerCall& call, const MapOf& map_of) {
  std::vector<AffineMap> maps;
  for (int64_t event = 0; event < call.x().size(0); ++event) maps.push_back(map_of(event));
  return sample_images(call.x(), maps, sampling_of(call.node));
}

at::Tensor random_translation(const LayerCall& call) {
  if (!call.training()) return call.x();
  const at::Tensor rows = draw_factor(call, "height_factor") * call.x().size(1),
                   columns = draw_factor(call, "width_factor", 0, 1) * call.x().size(2);
  return move_images(call, [&, row = rows.accessor<float, 1>(), column = columns.accessor<float, 1>()](int64_t event) {
    return AffineMap{.c = -column[event], .f = -row[event]};
  });
}

// About the middle of the image; a factor of 1 is a whole turn.
at::Tensor random_rotation(const LayerCall& call) {
  if (!call.training()) return call.x();
  const graph::Range turns = graph::factor_range(call.node, "factor");
  const at::Tensor angles = draw_between(call, turns.low * 360, turns.high * 360) * (std::numbers::pi / 180);
  const float x = 0.5F * static_cast<float>(call.x().size(2) - 1), y = 0.5F * static_cast<float>(call.x().size(1) - 1);
  return move_images(call, [&, angle = angles.accessor<float, 1>()](int64_t event) {
    const float cosine = std::cos(angle[event]), sine = std::sin(angle[event]);
    return AffineMap{cosine, -sine, x - x * cosine - y * -sine, sine, cosine, y - x * sine - y * cosine};
  });
}

at::Tensor random_zoom(const LayerCall& call) {
  if (!call.training()) return call.x();
  const at::Tensor rows = draw_factor(call, "height_factor", 1), columns = call.node.attributes.contains("width_factor")
                                                                               ? draw_factor(call, "width_factor", 1, 1)
                                                                               : rows;
  const float x = static_cast<float>(call.x().size(2) - 1) / 2, y = static_cast<float>(call.x().size(1) - 1) / 2;
  return move_images(call, [&, row = rows.accessor<float, 1>(), column = columns.accessor<float, 1>()](int64_t event) {
    return AffineMap{column[event], 0, x * (1 - column[event]), 0, row[event], y * (1 - row[event])};
  });
}

at::Tensor clip(const LayerCall& call, const at::Tensor& values) {
  const graph::Range range = graph::value_range(call.node);
  return at::clamp(values, range.low, range.high);
}

// About the mean of each channel of an image.
at::Tensor random_contrast(const LayerCall& call) {
  if (!call.training()) return call.x();
  const graph::Range range = graph::factor_range(call.node, "factor");
  const at::Tensor factor = beside_images(call, draw_between(call, 1 - range.low, 1 + range.high));
  const at::Tensor mean = call.x().mean({1}, /*keepdim=*/true).mean({2}, /*keepdim=*/true);
  return clip(call, (call.x() - mean) * factor + mean);
}

at::Tensor random_brightness(const LayerCall& call) {
  if (!call.training()) return call.x();
  const graph::Range range = graph::value_range(call.node);
  const at::Tensor shift = draw_factor(call, "factor") * static_cast<float>(range.high - range.low);
  return clip(call, call.x() + beside_images(call, shift));
}

at::Tensor cells_of_axis(const at::Tensor& x, int64_t axis, int64_t to) {
  const auto cells = graph::nearest_cells(x.size(axis), to);
  return at::index_select(x, axis, at::tensor(cells, at::kLong).to(x.device()));
}

// CenterCrop and Resizing.
at::Tensor fit_image(const LayerCall& call) {
  const graph::ImageFit fit = graph::image_fit(call.node, {call.x().sizes().begin() + 1, call.x().sizes().end()});
  const auto& [rows, columns] = fit.margins;
  const at::Tensor x = at::constant_pad_nd(channels_first(call.x()), {columns[0], columns[1], rows[0], rows[1]},
                                           graph::number(call.node, "fill_value", 0));
  const int64_t height = call.node.output[0], width = call.node.output[1];
  if (x.size(2) == height && x.size(3) == width) return channels_last(x);
  if (graph::text(call.node, "interpolation", "bilinear") == "nearest")
    return channels_last(cells_of_axis(cells_of_axis(x, 2, height), 3, width));
  return channels_last(at::upsample_bilinear2d(x, {height, width}, /*align_corners=*/false));
}

}  // namespace

std::vector<NamedLayer> image_layers() {
  return {{"RandomFlip", random_flip},         {"RandomTranslation", random_translation},
          {"RandomRotation", random_rotation}, {"RandomZoom", random_zoom},
          {"RandomContrast", random_contrast}, {"RandomBrightness", random_brightness},
          {"CenterCrop", fit_image},           {"Resizing", fit_image}};
}

}  // namespace linac::nn
