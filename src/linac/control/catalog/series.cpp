#include "linac/control/catalog/series.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace linac::catalog {
namespace {

bool before(const Point& a, const Point& b) {
  return a.step != b.step ? a.step < b.step : a.time_ms < b.time_ms;
}

Value finite_or_null(bool known, double value) {
  return known ? Value(value) : Value();
}
Value number_or_null(double value) {
  return std::isnan(value) ? Value() : Value(value);
}

void add_to_summary(SeriesState& state, std::span<const Point> points) {
  for (const Point& p : points) {
    const bool first = state.count == 0;
    if (!first && before(p, state.last))
      state.in_order = false;
    else
      state.last = p;
    ++state.count;
    if (!std::isfinite(p.value)) {
      ++state.not_finite;
      continue;
    }
    state.min = state.any_finite ? std::min(state.min, p.value) : p.value;
    state.max = state.any_finite ? std::max(state.max, p.value) : p.value;
    state.any_finite = true;
  }
}

void write_series(Connection& c, int64_t run, const std::string& key, SeriesState& s) {
  const Bytes last = packed(std::array{s.last});
  const Value value = number_or_null(s.last.value), min = finite_or_null(s.any_finite, s.min),
              max = finite_or_null(s.any_finite, s.max);
  if (s.number == 0) {
    s.number =
        c.query(
             "INSERT INTO series (run, key, count, not_finite, in_order, tail_first, tail_blocks, middle_first, "
             "middle_blocks, last, last_value, min_value, max_value) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
             "$11, $12, $13) RETURNING number",
             run, key, s.count, s.not_finite, int64_t{s.in_order}, s.tail_first, s.tail_blocks, s.middle_first,
             s.middle_blocks, last, value, min, max)
            .front()
            .integer(0);
    return;
  }
  c.post(
      "UPDATE series SET count = $2, not_finite = $3, in_order = $4, tail_first = $5, tail_blocks = $6, middle_first = "
      "$7, "
      "middle_blocks = $8, last = $9, last_value = $10, min_value = $11, max_value = $12 WHERE number = $1",
      s.number, s.count, s.not_finite, int64_t{s.in_order}, s.tail_first, s.tail_blocks, s.middle_first,
      s.middle_blocks, last, value, min, max);
}

void insert_block(Connection& c, const SeriesState& s, int64_t first, std::span<const Point> points) {
  const auto [least, most] =
      std::minmax_element(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.step < b.step; });
  c.post("INSERT INTO blocks (series, first, count, step_min, step_max, points) VALUES ($1, $2, $3, $4, $5, $6)",
         s.number, first, static_cast<int64_t>(points.size()), least->step, most->step, packed(points));
}

/// The blocks from `first` to the end as one, sorted, so that later merges and readers find them so.
int64_t merge_from(Connection& c, const SeriesState& s, int64_t first) {
  Bytes all;
  for (const Row& row :
       c.query("SELECT points FROM blocks WHERE series = $1 AND first >= $2 ORDER BY first", s.number, first))
    all.insert(all.end(), row.bytes(0).begin(), row.bytes(0).end());
  auto points = unpacked(all);
  if (!s.in_order) std::stable_sort(points.begin(), points.end(), before);
  c.post("DELETE FROM blocks WHERE series = $1 AND first >= $2", s.number, first);
  insert_block(c, s, first, points);
  return static_cast<int64_t>(points.size());
}

/// Merges what has piled up. All blocks before the tail that do not belong to the middle are large, or were closed by a
/// large one.
void tidy(Connection& c, SeriesState& s) {
  const int64_t tail_points = s.count - s.tail_first;
  if (s.tail_blocks < kTailBlocksMax && tail_points < kLargePoints) return;
  const int64_t merged = s.tail_blocks == 1 ? tail_points : merge_from(c, s, s.tail_first);
  s.tail_first = s.count;
  s.tail_blocks = 0;
  if (merged < kLargePoints) {
    if (++s.middle_blocks < kMiddleBlocksMax) return;
    merge_from(c, s, s.middle_first);
  }
  s.middle_first = s.count;
  s.middle_blocks = 0;
}

}  // namespace

SeriesState read_series(Database& database, int64_t run, const std::string& key) {
  SeriesState s;
  const auto row = database.first(
      "SELECT number, count, not_finite, in_order, tail_first, tail_blocks, middle_first, middle_blocks, last, "
      "min_value, "
      "max_value FROM series WHERE run = $1 AND key = $2",
      run, key);
  if (!row) return s;
  s.number = row->integer(0);
  s.count = row->integer(1);
  s.not_finite = row->integer(2);
  s.in_order = row->integer(3) != 0;
  s.tail_first = row->integer(4);
  s.tail_blocks = row->integer(5);
  s.middle_first = row->integer(6);
  s.middle_blocks = row->integer(7);
  s.last = unpacked(row->bytes(8)).at(0);
  s.any_finite = !row->null(9);
  if (s.any_finite) {
    s.min = row->number(9);
    s.max = row->number(10);
  }
  return s;
}

void append_to_series(Connection& c, int64_t run, const std::string& key, SeriesState& state,
                      std::span<const Point> points) {
  if (points.empty()) return;
  const int64_t first = state.count;
  add_to_summary(state, points);
  ++state.tail_blocks;
  const bool fresh = state.number == 0;
  if (fresh) write_series(c, run, key, state);  // the block refers to it
  insert_block(c, state, first, points);
  tidy(c, state);
  if (!fresh || state.tail_blocks == 0) write_series(c, run, key, state);
}

}  // namespace linac::catalog
