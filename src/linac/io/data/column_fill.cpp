#include "linac/io/data/column_fill.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::data {
namespace {

constexpr int64_t kEventValuesMax = int64_t{1} << 31;
// The offsets of a row are repeated up to this many values, so that one loop without a remainder runs over several
// rows.
constexpr size_t kScalingPeriod = 512;

void need(bool holds, const ColumnRequest& request, const std::string& what) {
  if (!holds) throw user_error(fmt::format("[data] column '{}': {}", request.describe(), what));
}

}  // namespace

void check_request(const ColumnRequest& request) {
  need(request.column.empty() != request.joined.empty(), request,
       "a column needs a name, or the names of those joined");
  LINAC_CHECK(request.padding == 0 || request.shape.size() == 2);
  for (const JoinedColumn& part : request.joined) need(!part.column.empty(), request, "a column needs a name");
  LINAC_CHECK(!request.texts || (request.joined.empty() && request.shape.size() <= 1 && request.offset.empty() &&
                                 request.factor.empty()));
  need(request.joined.empty() || request.shape.size() <= 1 ||
           (request.shape.size() == 2 && request.shape[1] == static_cast<int64_t>(request.joined.size())),
       request,
       fmt::format("several columns are joined to one list, or are the features of rows [ROWS, {}], and wanted is [{}] "
                   "an event; name one column that has it",
                   request.joined.size(), fmt::join(request.shape, ", ")));
  int64_t values = 1;
  for (const int64_t axis : request.shape) {
    need(axis >= 1 && axis <= kEventValuesMax / values, request,
         fmt::format("the shape [{}] cannot be", fmt::join(request.shape, ", ")));
    values *= axis;
  }
  const int64_t last = request.shape.empty() ? 1 : request.shape.back();
  for (const std::vector<float>* scaling : {&request.offset, &request.factor}) {
    need(scaling->empty() || static_cast<int64_t>(scaling->size()) == last, request,
         fmt::format("{} constants of scaling for a last axis of {}", scaling->size(), last));
    for (const float value : *scaling) need(std::isfinite(value), request, "a constant of scaling is not finite");
  }
}

std::vector<WantedColumn> wanted_of(const ColumnRequest& request) {
  if (request.joined.empty())
    return {{.name = request.column,
             .shape = request.shape,
             .texts = request.texts.has_value(),
             .padding = request.padding}};
  if (request.is_zipped()) {
    WantedColumn rows{.name = request.describe(), .shape = request.shape, .padding = request.padding};
    for (const JoinedColumn& part : request.joined) rows.zipped.push_back(part.column);
    return {rows};
  }
  std::vector<WantedColumn> parts;
  for (const JoinedColumn& part : request.joined) parts.push_back({.name = part.column, .shape = {}, .joined = true});
  return parts;
}

ColumnFill::ColumnFill(const ColumnRequest& request)
    : event_values(static_cast<size_t>(request.event_values())),
      row_size(static_cast<size_t>(wanted_of(request).front().row_size())),
      padding(request.padding) {
  if (request.offset.empty() && request.factor.empty()) return;
  const size_t last = request.shape.empty() ? 1 : static_cast<size_t>(request.shape.back());
  const size_t period = std::max<size_t>(1, kScalingPeriod / last) * last;
  for (size_t i = 0; i < period; ++i) {
    offset.push_back(request.offset.empty() ? 0 : request.offset[i % last]);
    factor.push_back(request.factor.empty() ? 1 : request.factor[i % last]);
  }
}

void ColumnFill::copy(const float* from, size_t count, float* to) const {
  if (offset.empty()) {
    std::copy_n(from, count, to);
    return;
  }
  const float* const offsets = offset.data();
  const float* const factors = factor.data();
  for (size_t first = 0; first < count; first += offset.size()) {
    const size_t length = std::min(offset.size(), count - first);
    for (size_t i = 0; i < length; ++i) to[first + i] = (from[first + i] - offsets[i]) * factors[i];
  }
  if (padding == 0) return;
  for (size_t first = 0; first + row_size <= count; first += row_size)
    if (std::all_of(from + first, from + first + row_size, [&](float x) { return x == padding; }))
      std::fill_n(to + first, row_size, padding);
}

void ColumnFill::set_class(size_t place, float* to) const {
  if (event_values == 1) {
    *to = static_cast<float>(place);
    return;
  }
  std::fill_n(to, event_values, 0.0F);
  to[place] = 1;
}

}  // namespace linac::data
