#pragma once
// What a convolution or a pool slides over the cells of an image, of any number of axes. Plain values.

#include <algorithm>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

struct Window {
  std::vector<int64_t> size, strides, dilation;  // by axis

  /// Cells from the first to the last that it covers.
  int64_t reach(size_t axis) const { return (size[axis] - 1) * dilation[axis] + 1; }
  /// Cells that padding "same" adds to `in` of them for `out` positions; what is odd goes behind.
  int64_t same_padding(size_t axis, int64_t in, int64_t out) const {
    return std::max<int64_t>((out - 1) * strides[axis] + reach(axis) - in, 0);
  }
  /// Positions, the padding "same" or none; 0 where it does not fit.
  int64_t positions(size_t axis, int64_t in, bool same) const {
    if (same) return (in + strides[axis] - 1) / strides[axis];
    return in < reach(axis) ? 0 : (in - reach(axis)) / strides[axis] + 1;
  }
};

/// Of the attributes "kernel_size", "strides" and "dilation_rate"; user error naming the layer if they are wrong.
Window conv_window(const Node& node, size_t axes);
/// Of "pool_size" and "strides", which is the size if not given.
Window pool_window(const Node& node, size_t axes);

/// Whether a 3-D convolution visits every cell once and joins all channels: no strides, dilation or groups.
bool is_dense_conv3d(const Node& node);

}  // namespace linac::graph
