#include "linac/model/graph/layers/window.h"

#include "linac/model/graph/layers/attributes.h"

namespace linac::graph {

Window conv_window(const Node& node, size_t axes) {
  return {extents(node, "kernel_size", axes), extents(node, "strides", axes, 1),
          extents(node, "dilation_rate", axes, 1)};
}

Window pool_window(const Node& node, size_t axes) {
  const auto size = extents(node, "pool_size", axes, 2);
  const bool strided = node.attributes.contains("strides") && !node.attributes.at("strides").is_null();
  return {size, strided ? extents(node, "strides", axes) : size, std::vector<int64_t>(axes, 1)};
}

bool is_dense_conv3d(const Node& node) {
  const std::vector<int64_t> ones(3, 1);
  const Window window = conv_window(node, 3);
  return window.strides == ones && window.dilation == ones && integer(node, "groups", 1) == 1;
}

}  // namespace linac::graph
