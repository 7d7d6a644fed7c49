#pragma once
// How a curve is laid out in the tables: a row of `series` with its summary, and blocks of points in the order of their
// arrival. New blocks are small; kTailBlocksMax of them become a middling one, kMiddleBlocksMax of these a large one.
// Private to the module.

#include <span>
#include <string>

#include "linac/control/catalog/connection.h"

namespace linac::catalog {

constexpr int64_t kTailBlocksMax = 64, kMiddleBlocksMax = 32;
/// A block of so many points is large, and stays as it is.
constexpr int64_t kLargePoints = 2048;

/// The series' row, or one of a series that is not there yet (number 0).
SeriesState read_series(Database& database, int64_t run, const std::string& key);
/// Appends `points`, in this order, and brings `state` up to date.
void append_to_series(Connection& database, int64_t run, const std::string& key, SeriesState& state,
                      std::span<const Point> points);

}  // namespace linac::catalog
