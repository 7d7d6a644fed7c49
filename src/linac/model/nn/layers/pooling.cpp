#include <algorithm>
#include <limits>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/window.h"
#include "linac/model/graph/split/split_graph.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

struct Pool {
  std::vector<int64_t> size, strides, padding;  // padding: of the last axis first, as LibTorch wants it

  Pool(const graph::Node& node, const at::Tensor& x) {
    const graph::Window window = graph::pool_window(node, static_cast<size_t>(x.dim() - 2));
    size = window.size, strides = window.strides;
    const bool same = graph::pads_same(node);
    for (size_t axis = size.size(); axis-- > 0;) {
      const int64_t in = x.size(static_cast<int64_t>(axis) + 1);
      const int64_t all = same ? window.same_padding(axis, in, node.output[axis]) : 0;
      padding.push_back(all / 2);
      padding.push_back(all - all / 2);
    }
  }
  bool pads() const {
    return std::any_of(padding.begin(), padding.end(), [](int64_t cells) { return cells > 0; });
  }
};

at::Tensor average(const at::Tensor& x, const Pool& pool) {
  if (x.dim() == 3) return at::avg_pool1d(x, pool.size, pool.strides);
  return x.dim() == 4 ? at::avg_pool2d(x, pool.size, pool.strides) : at::avg_pool3d(x, pool.size, pool.strides);
}

// Cells of the padding do not count.
at::Tensor average_pooling(const LayerCall& call) {
  const Pool pool(call.node, call.x());
  const at::Tensor x = channels_first(call.x());
  if (call.node.attributes.contains(graph::kOutside)) {  // zeros that are there
    at::Tensor there = at::ones_like(x.narrow(0, 0, 1).narrow(1, 0, 1));
    const auto outside = graph::margins(call.node, graph::kOutside, pool.size.size());
    for (size_t axis = 0; axis < outside.size(); ++axis) {
      const auto dim = static_cast<int64_t>(axis) + 2;
      there.narrow(dim, 0, outside[axis][0]).zero_();
      there.narrow(dim, x.size(dim) - outside[axis][1], outside[axis][1]).zero_();
    }
    return channels_last(average(x, pool) / average(there, pool));
  }
  if (!pool.pads()) return channels_last(average(x, pool));
  const at::Tensor there = at::constant_pad_nd(at::ones_like(x.narrow(0, 0, 1).narrow(1, 0, 1)), pool.padding);
  return channels_last(average(at::constant_pad_nd(x, pool.padding), pool) / average(there, pool));
}

at::Tensor max_pooling(const LayerCall& call) {
  const Pool pool(call.node, call.x());
  at::Tensor x = channels_first(call.x());
  if (pool.pads()) x = at::constant_pad_nd(x, pool.padding, -std::numeric_limits<double>::infinity());
  if (x.dim() == 3) return channels_last(at::max_pool1d(x, pool.size, pool.strides));
  return channels_last(x.dim() == 4 ? at::max_pool2d(x, pool.size, pool.strides)
                                    : at::max_pool3d(x, pool.size, pool.strides));
}

std::vector<int64_t> cell_axes(const at::Tensor& x) {
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis < x.dim() - 1; ++axis) axes.push_back(axis);
  return axes;
}

bool keeps(const LayerCall& call) {
  return call.node.attributes.value("keepdims", false);
}

at::Tensor global_average(const LayerCall& call) {
  return at::mean(call.x(), cell_axes(call.x()), keeps(call));
}

// Only the steps that count, where a mask says so.
at::Tensor global_average_of_steps(const LayerCall& call) {
  if (!call.mask().defined()) return global_average(call);
  const at::Tensor counts = expand_mask(call.mask(), call.x()).to(at::kFloat);
  return at::sum(call.x() * counts, {1}, keeps(call)) / at::sum(counts, {1}, keeps(call));
}

at::Tensor global_max(const LayerCall& call) {
  return at::amax(call.x(), cell_axes(call.x()), keeps(call));
}

}  // namespace

std::vector<NamedLayer> pooling_layers() {
  return {{"AveragePooling1D", average_pooling},
          {"AveragePooling2D", average_pooling},
          {"AveragePooling3D", average_pooling},
          {"MaxPooling1D", max_pooling},
          {"MaxPooling2D", max_pooling},
          {"MaxPooling3D", max_pooling},
          {"GlobalAveragePooling1D", global_average_of_steps},
          {"GlobalAveragePooling2D", global_average},
          {"GlobalAveragePooling3D", global_average},
          {"GlobalMaxPooling1D", global_max},
          {"GlobalMaxPooling2D", global_max},
          {"GlobalMaxPooling3D", global_max}};
}

}  // namespace linac::nn
