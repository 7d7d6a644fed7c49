#pragma once
// How a curve is laid out in the tables: a row of `series` with its summary, and blocks of points in the order of their
// arrival. New blocks are small; kTailBlocksMax of them become a middling one, kMiddleBlocksMax of these a large one.
// Private to the module.

#include <span>
#include <string>
#include <unordered_map>

#include "linac/control/catalog/connection.h"

namespace linac::catalog {

constexpr int64_t kTailBlocksMax = 64, kMiddleBlocksMax = 32;
/// A block of so many points is large, and stays as it is.
constexpr int64_t kLargePoints = 2048;

/// The rows of those series that are there; a few statements for many.
std::unordered_map<std::string, SeriesState> read_series(Database& database, int64_t run,
                                                         std::span<const std::string* const> keys);
/// Appends `points`, in this order and one at least, and brings `state` up to date, which is in the table.
void append_to_series(Connection& database, SeriesState& state, std::span<const Point> points);

/// A series that is not in the table yet, with its first points.
struct FreshSeries {
  const std::string* key = nullptr;
  SeriesState* state = nullptr;
  std::span<const Point> points;
};
/// Begins them: many at a time, as each answer of a database is waited for.
void append_fresh(Connection& database, int64_t run, std::span<const FreshSeries> fresh);

}  // namespace linac::catalog
