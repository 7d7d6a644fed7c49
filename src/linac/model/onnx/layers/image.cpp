// Layers of images. Those that vary images do so in training only.
#include "linac/model/graph/layers/image.h"

#include <cmath>
#include <limits>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

Value same(const LayerCall& call) {
  return call.inputs[0];
}

/// Runtimes take the whole part of the scale times the cells: it must not be below `to`.
float scale_to(int64_t from, int64_t to) {
  float scale = static_cast<float>(to) / static_cast<float>(from);
  while (static_cast<double>(scale) * static_cast<double>(from) < static_cast<double>(to))
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  return scale;
}

Value cut(const LayerCall& call, const Value& x, const graph::ImageFit& fit) {
  Shape starts, ends, axes;
  Value result = x;
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto& [before, behind] = fit.margins[axis];
    if (before >= 0 && behind >= 0) continue;
    starts.push_back(-before);
    ends.push_back(x.shape[axis] + behind);
    axes.push_back(x.axis(static_cast<int64_t>(axis) + 1));
    result.shape[axis] = fit.cells[axis];
  }
  Emitter& emit = call.emit;
  if (!axes.empty()) result.name = emit.op("Slice", {x.name, emit.ints(starts), emit.ints(ends), emit.ints(axes)});
  return result;
}

Value pad(const LayerCall& call, const Value& x, const graph::ImageFit& fit) {
  const auto rank = static_cast<size_t>(x.rank());
  Shape pads(2 * rank, 0);
  Value result = x;
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto& [before, behind] = fit.margins[axis];
    if (before <= 0 && behind <= 0) continue;
    const auto at = static_cast<size_t>(x.axis(static_cast<int64_t>(axis) + 1));
    pads[at] = before, pads[rank + at] = behind;
    result.shape[axis] = fit.cells[axis];
  }
  if (result.shape == x.shape) return x;
  const std::string value = call.emit.scalar(graph::number(call.node, "fill_value", 0));
  result.name = call.emit.op("Pad", {x.name, call.emit.ints(pads), value});
  return result;
}

Value resize_nearest(const LayerCall& call, const Value& x) {
  std::string name = x.name;
  for (size_t axis = 0; axis < 2; ++axis) {
    const Shape cells = graph::nearest_cells(x.shape[axis], call.node.output[axis]);
    name = call.emit.op("Gather", {name, call.emit.ints(cells)}, {{"axis", x.axis(static_cast<int64_t>(axis) + 1)}});
  }
  return call.result(name, x.layout);
}

Value resize_bilinear(const LayerCall& call, const Value& x) {
  const std::vector<float> scales{1, 1, scale_to(x.shape[0], call.node.output[0]),
                                  scale_to(x.shape[1], call.node.output[1])};
  const std::string factors = call.emit.floats({4}, scales);
  return call.result(call.emit.op("Resize", {call.emit.in(Layout::kChannelsFirst, x), "", factors},
                                  {{"mode", "linear"}, {"coordinate_transformation_mode", "half_pixel"}}),
                     Layout::kChannelsFirst);
}

// CenterCrop and Resizing.
Value fit_image(const LayerCall& call) {
  const graph::ImageFit fit = graph::image_fit(call.node, call.inputs[0].shape);
  const Value x = pad(call, cut(call, call.emit.as(Type::kFloat, call.inputs[0]), fit), fit);
  if (x.shape == call.node.output) return call.result(x.name, x.layout);
  const bool nearest = graph::text(call.node, "interpolation", "bilinear") == "nearest";
  return nearest ? resize_nearest(call, x) : resize_bilinear(call, x);
}

}  // namespace

std::vector<NamedLayer> image_layers() {
  return {{"RandomFlip", same},     {"RandomTranslation", same}, {"RandomRotation", same},  {"RandomZoom", same},
          {"RandomContrast", same}, {"RandomBrightness", same},  {"CenterCrop", fit_image}, {"Resizing", fit_image}};
}

}  // namespace linac::onnx
