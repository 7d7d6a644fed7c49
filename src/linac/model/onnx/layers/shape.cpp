#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

size_t cell_axes(const LayerCall& call) {
  return call.inputs[0].shape.size() - 1;
}

// With the channels first, where the convolution behind it wants them: transposed before it is large.
Value up_sampling(const LayerCall& call) {
  const auto size = graph::extents(call.node, "size", cell_axes(call), 2);
  std::vector<float> scales{1, 1};
  scales.insert(scales.end(), size.begin(), size.end());
  const bool linear = graph::text(call.node, "interpolation", "nearest") == "bilinear";
  const std::string place = linear ? "half_pixel" : "asymmetric";
  std::vector<Attribute> attributes{{"mode", linear ? "linear" : "nearest"}, {"coordinate_transformation_mode", place}};
  if (!linear) attributes.push_back({"nearest_mode", "floor"});
  const std::string factors = call.emit.floats({static_cast<int64_t>(scales.size())}, scales);
  return call.result(call.emit.op("Resize", {call.x(0, Layout::kChannelsFirst), "", factors}, std::move(attributes)),
                     Layout::kChannelsFirst);
}

Value zero_padding(const LayerCall& call) {
  const auto margins = graph::margins(call.node, "padding", cell_axes(call));
  const Value x = call.emit.as(Type::kFloat, call.inputs[0]);
  const auto rank = static_cast<size_t>(x.rank());
  Shape pads(2 * rank, 0);
  for (size_t i = 0; i < margins.size(); ++i) {
    const auto axis = static_cast<size_t>(x.axis(static_cast<int64_t>(i) + 1));
    pads[axis] = margins[i][0], pads[rank + axis] = margins[i][1];
  }
  // onnxruntime (1.31) makes one operator of Pad and MaxPool, whose padding is no zeros any more. Max of one keeps them
  // apart.
  return call.result(call.emit.op("Max", {call.emit.op("Pad", {x.name, call.emit.ints(pads)})}), x.layout);
}

Value cropping(const LayerCall& call) {
  const auto margins = graph::margins(call.node, "cropping", cell_axes(call));
  const Value& x = call.inputs[0];
  Shape starts, ends, axes;
  for (size_t i = 0; i < margins.size(); ++i) {
    starts.push_back(margins[i][0]);
    ends.push_back(x.shape[i] - margins[i][1]);
    axes.push_back(x.axis(static_cast<int64_t>(i) + 1));
  }
  Emitter& emit = call.emit;
  return call.result(emit.op("Slice", {x.name, emit.ints(starts), emit.ints(ends), emit.ints(axes)}), x.layout, x.type);
}

// Also what Flatten does.
Value reshape(const LayerCall& call) {
  const std::string x = call.emit.in(Layout::kChannelsLast, call.inputs[0]);
  return call.result(call.emit.reshape(x, behind_batch(call.node.output)), Layout::kChannelsLast, call.inputs[0].type);
}

Value permuted(const LayerCall& call) {
  const std::string x = call.emit.in(Layout::kChannelsLast, call.inputs[0]);
  const auto dims = call.node.attributes.at("dims").get<Shape>();
  return call.result(call.emit.transpose(x, behind_batch(dims)), Layout::kChannelsLast, call.inputs[0].type);
}

Value repeat(const LayerCall& call) {
  const std::string once = call.emit.unsqueeze(call.inputs[0].name, {1});
  return call.result(call.emit.op("Expand", {once, call.emit.ints({1, call.node.output[0], 1})}), Layout::kChannelsLast,
                     call.inputs[0].type);
}

}  // namespace

std::vector<NamedLayer> shape_layers() {
  return {{"UpSampling1D", up_sampling},
          {"UpSampling2D", up_sampling},
          {"UpSampling3D", up_sampling},
          {"ZeroPadding1D", zero_padding},
          {"ZeroPadding2D", zero_padding},
          {"ZeroPadding3D", zero_padding},
          {"Cropping1D", cropping},
          {"Cropping2D", cropping},
          {"Cropping3D", cropping},
          {"Reshape", reshape},
          {"Flatten", reshape},
          {"Permute", permuted},
          {"RepeatVector", repeat}};
}

}  // namespace linac::onnx
