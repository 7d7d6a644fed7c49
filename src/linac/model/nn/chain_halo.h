#pragma once
// What the stages of a chain exchange where an image is divided along x and y (model/graph/split/split_graph.h): the
// rows of the blocked image that the next convolution needs of other parts, and on the way back what these rows add to
// the gradient. A row is all cells along z, all channels and 16 events.

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/split/part_link.h"
#include "linac/model/kernels/blocked_image.h"

namespace linac::nn {

/// Rows from plane x[0] and row y[0] on up to x[1] and y[1], which are not among them.
struct Rows {
  int64_t x[2] = {0, 0}, y[2] = {0, 0};

  int64_t count() const { return std::max<int64_t>(0, x[1] - x[0]) * std::max<int64_t>(0, y[1] - y[0]); }
};

/// Of a stage whose next one needs rows of other parts.
struct ChainHalo {
  /// Of the chain's layer PartHalo, which reads an image of shape `own`.
  ChainHalo(const graph::Node& halo, const graph::Shape& own);

  kernels::BlockedExtent frame;  // the stage's own rows and those of others around them
  Rows own;                      // in the frame
  int64_t origin[2];             // of the frame, in the whole image
  struct Neighbour {
    Rows got, given;  // of theirs, and of the own, in the frame
  };
  std::vector<Neighbour> neighbours;  // by part; no rows of the part itself
  /// Cells that the convolution pads beyond the image, before and behind.
  std::array<std::array<int64_t, 2>, 3> padding{};
};

/// Hands out `floats` values from row y of plane x on.
using RowAt = std::function<float*(int64_t block, int64_t x, int64_t y)>;

/// The frame's rows of others become theirs.
void fetch_rows(graph::PartLink& link, const ChainHalo& halo, int64_t blocks, int64_t floats, const RowAt& at);
/// What the frame has of others is added to theirs, and theirs to the own rows, in the order of the parts.
void give_back_rows(graph::PartLink& link, const ChainHalo& halo, int64_t blocks, int64_t floats, const RowAt& at);

}  // namespace linac::nn
