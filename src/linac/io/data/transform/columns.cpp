#include "linac/io/data/transform/columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace linac::data {
namespace {

template <class T>
void strip_values(std::vector<T>& values, std::vector<uint32_t>& rows, size_t row_size, T padding) {
  size_t from = 0, to = 0;
  for (uint32_t& count : rows) {
    const size_t stored = count * row_size;
    size_t end = stored;
    while (end > 0 && values[from + end - 1] == padding) --end;
    count = static_cast<uint32_t>((end + row_size - 1) / row_size);
    const size_t kept = count * row_size;
    if (from != to)
      std::copy_n(values.begin() + static_cast<int64_t>(from), kept, values.begin() + static_cast<int64_t>(to));
    from += stored;
    to += kept;
  }
  values.resize(to);
}

template <class T>
void take_rows(std::vector<T>& values, std::span<const uint32_t> kept, size_t row_size) {
  std::vector<T> out(kept.size() * row_size);
  for (size_t i = 0; i < kept.size(); ++i)
    std::copy_n(values.begin() + static_cast<int64_t>(kept[i] * row_size), row_size,
                out.begin() + static_cast<int64_t>(i * row_size));
  values = std::move(out);
}

}  // namespace

void BlockColumn::strip() {
  if (row_size == 0) return;  // no row in the block
  if (data.exact.empty())
    strip_values(data.values, data.rows, row_size, *padding);
  else
    strip_values(data.exact, data.rows, row_size, static_cast<double>(*padding));
}

void BlockColumn::follow(const std::vector<uint32_t>& stored) {
  origin.clear();
  uint32_t begin = 0;
  for (size_t event = 0; event < stored.size(); begin += stored[event++])
    for (uint32_t row = 0; row < data.rows[event]; ++row) origin.push_back(begin + row);
}

void BlockColumn::rearrange(std::span<const uint32_t> kept, const std::vector<uint32_t>& rows) {
  if (data.exact.empty())
    take_rows(data.values, kept, row_size);
  else
    take_rows(data.exact, kept, row_size);
  if (!origin.empty()) take_rows(origin, kept, 1);
  data.rows = rows;
}

expression::Block BlockColumn::block() const {
  if (type.axes == expression::Axes::kNumber) return {.values = data.exact, .rows = {}};
  return {.values = data.exact, .rows = data.rows, .row_size = row_size};
}

std::vector<uint32_t> kept_rows(std::span<const uint32_t> rows, std::span<const double> filter,
                                std::span<const double> sort, int64_t first, std::vector<uint32_t>& left) {
  std::vector<uint32_t> kept;
  left.clear();
  uint32_t begin = 0;
  for (const uint32_t count : rows) {
    const size_t before = kept.size();
    for (uint32_t row = begin; row < begin + count; ++row)
      if (filter.empty() || filter[row] != 0) kept.push_back(row);
    const auto mine = kept.begin() + static_cast<int64_t>(before);
    if (!sort.empty()) {
      std::stable_sort(mine, kept.end(), [&](uint32_t a, uint32_t b) {
        return sort[a] < sort[b] || (std::isnan(sort[b]) && !std::isnan(sort[a]));
      });
    }
    if (first > 0 && kept.size() - before > static_cast<size_t>(first))
      kept.resize(before + static_cast<size_t>(first));
    left.push_back(static_cast<uint32_t>(kept.size() - before));
    begin += count;
  }
  return kept;
}

}  // namespace linac::data
