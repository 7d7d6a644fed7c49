#include "linac/model/nn/chain_halo.h"

#include <algorithm>

#include "linac/model/graph/split/part_regions.h"

namespace linac::nn {
namespace {

Rows rows_of(const graph::Region& region, const int64_t (&origin)[2]) {
  return {{region[0].begin - origin[0], region[0].end - origin[0]},
          {region[1].begin - origin[1], region[1].end - origin[1]}};
}

template <class Use>
void for_each_row(const Rows& rows, int64_t blocks, const Use& use) {
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t x = rows.x[0]; x < rows.x[1]; ++x)
      for (int64_t y = rows.y[0]; y < rows.y[1]; ++y) use(block, x, y);
}

using RowsOf = const Rows& (*)(const ChainHalo::Neighbour&);

/// The rows `sent` go to each part, and `use` gets those that come for `came`.
void exchange(graph::PartLink& link, const ChainHalo& halo, int64_t blocks, int64_t floats, const RowAt& at,
              RowsOf sent, RowsOf came, const std::function<void(const float* row, float* to)>& use) {
  std::vector<std::vector<float>> out, in;
  for (const ChainHalo::Neighbour& neighbour : halo.neighbours) {
    std::vector<float>& message = out.emplace_back();
    message.reserve(static_cast<size_t>(sent(neighbour).count() * blocks * floats));
    for_each_row(sent(neighbour), blocks, [&](int64_t block, int64_t x, int64_t y) {
      const float* const row = at(block, x, y);
      message.insert(message.end(), row, row + floats);
    });
    in.emplace_back(static_cast<size_t>(came(neighbour).count() * blocks * floats));
  }
  const std::vector<std::span<const float>> to(out.begin(), out.end());
  const std::vector<std::span<float>> from(in.begin(), in.end());
  link.exchange(to, from);
  for (size_t part = 0; part < in.size(); ++part) {
    const float* row = in[part].data();
    for_each_row(came(halo.neighbours[part]), blocks, [&](int64_t block, int64_t x, int64_t y) {
      use(row, at(block, x, y));
      row += floats;
    });
  }
}

const Rows& got(const ChainHalo::Neighbour& neighbour) {
  return neighbour.got;
}
const Rows& given(const ChainHalo::Neighbour& neighbour) {
  return neighbour.given;
}

}  // namespace

ChainHalo::ChainHalo(const graph::Node& halo, const graph::Shape& own_shape) {
  auto [all, own_cells, needed] = graph::regions_of(halo);
  const auto me = halo.attributes.at("part").get<size_t>();
  for (size_t axis = 0; axis < padding.size(); ++axis) {
    const graph::Cells& cells = needed[me][axis];
    padding[axis] = {std::max<int64_t>(0, -cells.begin), std::max<int64_t>(0, cells.end - all[axis].end)};
  }
  for (graph::Region& region : needed) region = common(region, all);  // there is nothing beyond
  const graph::Region &mine = needed[me], &here = own_cells[me];
  frame = {{mine[0].size(), mine[1].size(), mine[2].size()}, own_shape.back()};
  origin[0] = mine[0].begin, origin[1] = mine[1].begin;
  own = rows_of(here, origin);
  for (size_t part = 0; part < needed.size(); ++part) {
    neighbours.push_back(part == me ? Neighbour{}
                                    : Neighbour{rows_of(common(own_cells[part], mine), origin),
                                                rows_of(common(here, needed[part]), origin)});
  }
}

void fetch_rows(graph::PartLink& link, const ChainHalo& halo, int64_t blocks, int64_t floats, const RowAt& at) {
  exchange(link, halo, blocks, floats, at, given, got,
           [floats](const float* row, float* to) { std::copy_n(row, floats, to); });
}

void give_back_rows(graph::PartLink& link, const ChainHalo& halo, int64_t blocks, int64_t floats, const RowAt& at) {
  exchange(link, halo, blocks, floats, at, got, given, [floats](const float* row, float* to) {
    for (int64_t i = 0; i < floats; ++i) to[i] += row[i];
  });
}

}  // namespace linac::nn
