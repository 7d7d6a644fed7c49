#include "linac/model/graph/layers/attributes.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

size_t cell_axes(const at::Tensor& x) {
  return static_cast<size_t>(x.dim() - 2);
}

at::Tensor up_sampling(const LayerCall& call) {
  const auto size = graph::extents(call.node, "size", cell_axes(call.x()), 2);
  at::Tensor x = channels_first(call.x());
  std::vector<int64_t> cells;
  for (size_t axis = 0; axis < size.size(); ++axis)
    cells.push_back(x.size(static_cast<int64_t>(axis) + 2) * size[axis]);
  if (call.node.attributes.value("interpolation", "nearest") == "bilinear")
    return channels_last(at::upsample_bilinear2d(x, cells, /*align_corners=*/false));
  if (x.dim() == 3) return channels_last(at::upsample_nearest1d(x, cells));
  if (x.dim() == 4) return channels_last(at::upsample_nearest2d(x, cells).contiguous(at::MemoryFormat::ChannelsLast));
  return channels_last(at::upsample_nearest3d(x, cells).contiguous(at::MemoryFormat::ChannelsLast3d));
}

// constant_pad_nd takes the last axis first, and takes cells away where it is told to add less than none.
at::Tensor with_margins(const LayerCall& call, const char* attribute, int64_t sign) {
  const auto margins = graph::margins(call.node, attribute, cell_axes(call.x()));
  std::vector<int64_t> cells;
  for (auto axis = margins.rbegin(); axis != margins.rend(); ++axis) {
    cells.push_back(sign * (*axis)[0]);
    cells.push_back(sign * (*axis)[1]);
  }
  return channels_last(at::constant_pad_nd(channels_first(call.x()), cells));
}

at::Tensor zero_padding(const LayerCall& call) {
  return with_margins(call, "padding", 1);
}
at::Tensor cropping(const LayerCall& call) {
  return with_margins(call, "cropping", -1);
}

at::Tensor reshape(const LayerCall& call) {
  std::vector<int64_t> shape{call.x().size(0)};
  shape.insert(shape.end(), call.node.output.begin(), call.node.output.end());
  return call.x().reshape(shape);
}

at::Tensor flatten(const LayerCall& call) {
  return call.x().reshape({call.x().size(0), -1});
}

at::Tensor permute(const LayerCall& call) {
  auto axes = call.node.attributes.at("dims").get<std::vector<int64_t>>();
  axes.insert(axes.begin(), 0);
  return call.x().permute(axes);
}

at::Tensor repeat(const LayerCall& call) {
  return call.x().unsqueeze(1).expand({-1, call.node.output[0], -1});
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
          {"Flatten", flatten},
          {"Permute", permute},
          {"RepeatVector", repeat}};
}

}  // namespace linac::nn
