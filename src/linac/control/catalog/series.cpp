#include "linac/control/catalog/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "linac/control/catalog/sql_text.h"

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

void write_series(Connection& c, const SeriesState& s) {
  const Bytes last = packed(std::array{s.last});
  const Value value = number_or_null(s.last.value), min = finite_or_null(s.any_finite, s.min),
              max = finite_or_null(s.any_finite, s.max);
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

// Of statements that name several curves: few texts, so that each stays prepared.
constexpr size_t kReadTogether = 64, kInsertedTogether[] = {32, 8, 1};

SeriesState state_of(const Row& row) {
  SeriesState s;
  s.number = row.integer(1);
  s.count = row.integer(2);
  s.not_finite = row.integer(3);
  s.in_order = row.integer(4) != 0;
  s.tail_first = row.integer(5);
  s.tail_blocks = row.integer(6);
  s.middle_first = row.integer(7);
  s.middle_blocks = row.integer(8);
  s.last = unpacked(row.bytes(9)).at(0);
  s.any_finite = !row.null(10);
  if (s.any_finite) {
    s.min = row.number(10);
    s.max = row.number(11);
  }
  return s;
}

/// Gives those that are not in the table yet their rows and numbers.
void insert_series(Connection& c, int64_t run, std::span<const FreshSeries> fresh) {
  SqlText sql;
  sql << "INSERT INTO series (run, key, count, not_finite, in_order, tail_first, tail_blocks, middle_first, "
         "middle_blocks, last, last_value, min_value, max_value) VALUES ";
  std::unordered_map<std::string_view, SeriesState*> states;
  for (const FreshSeries& one : fresh) {
    const SeriesState& s = *one.state;
    sql << (states.empty() ? "(" : ", (") << sql.bind(run);
    for (Value value :
         {Value(*one.key), Value(s.count), Value(s.not_finite), Value(int64_t{s.in_order}), Value(s.tail_first),
          Value(s.tail_blocks), Value(s.middle_first), Value(s.middle_blocks), Value(packed(std::array{s.last})),
          number_or_null(s.last.value), finite_or_null(s.any_finite, s.min), finite_or_null(s.any_finite, s.max)})
      sql << ", " << sql.bind(std::move(value));
    sql << ")";
    states.emplace(*one.key, one.state);
  }
  sql << " RETURNING key, number";
  for (const Row& row : sql.rows(c)) states.at(row.text(0))->number = row.integer(1);
}

}  // namespace

std::unordered_map<std::string, SeriesState> read_series(Database& database, int64_t run,
                                                         std::span<const std::string* const> keys) {
  std::unordered_map<std::string, SeriesState> found;
  for (; !keys.empty(); keys = keys.subspan(std::min(kReadTogether, keys.size()))) {
    const auto some = keys.first(std::min(kReadTogether, keys.size()));
    SqlText sql;
    sql << "SELECT key, number, count, not_finite, in_order, tail_first, tail_blocks, middle_first, middle_blocks, "
           "last, min_value, max_value FROM series WHERE run = "
        << sql.bind(run) << " AND key IN (" << sql.bind(*some.front());
    const size_t places = some.size() == 1 ? 1 : kReadTogether;
    for (size_t i = 1; i < places; ++i) sql << ", " << sql.bind(*some[std::min(i, some.size() - 1)]);
    sql << ")";
    for (const Row& row : sql.rows(database)) found.emplace(row.text(0), state_of(row));
  }
  return found;
}

void append_fresh(Connection& c, int64_t run, std::span<const FreshSeries> fresh) {
  for (const FreshSeries& one : fresh) {
    add_to_summary(*one.state, one.points);
    ++one.state->tail_blocks;
  }
  for (auto left = fresh; !left.empty();)
    for (const size_t together : kInsertedTogether)
      for (; left.size() >= together; left = left.subspan(together)) insert_series(c, run, left.first(together));
  for (const FreshSeries& one : fresh) {
    insert_block(c, *one.state, 0, one.points);
    tidy(c, *one.state);
    if (one.state->tail_blocks == 0) write_series(c, *one.state);
  }
}

void append_to_series(Connection& c, SeriesState& state, std::span<const Point> points) {
  const int64_t first = state.count;
  add_to_summary(state, points);
  ++state.tail_blocks;
  insert_block(c, state, first, points);
  tidy(c, state);
  write_series(c, state);
}

}  // namespace linac::catalog
