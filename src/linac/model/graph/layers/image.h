#pragma once
// Layers that cut, resize and vary images of (rows, columns, channels): what follows from Keras's settings of them
// (keras/src/layers/preprocessing/image_preprocessing of Keras 3.15). Each function throws a user error that names the
// layer. Pure, thread-safe.

#include <array>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Of one of the classes that cut, resize or vary images.
bool is_image_layer(const std::string& op);

/// Between which numbers a layer draws.
struct Range {
  double low = 0, high = 0;
};

/// Of a factor: a number f means -|f| to |f| (0 to |f| in RandomContrast), two numbers what lies between them.
Range factor_range(const Node& node, const std::string& attribute);
/// The attribute "value_range": the values of a cell are kept inside.
Range value_range(const Node& node);

/// How a CenterCrop or a Resizing brings an image to another size.
struct ImageFit {
  /// Cells put before and behind the rows and the columns; below zero: taken away.
  std::array<std::array<int64_t, 2>, 2> margins{};
  /// Rows and columns after that, which are then resized to those of the output.
  std::array<int64_t, 2> cells{};
};

ImageFit image_fit(const Node& node, const Shape& image);

/// Which of `from` cells of an axis each of `to` cells takes, by interpolation "nearest".
std::vector<int64_t> nearest_cells(int64_t from, int64_t to);

}  // namespace linac::graph
