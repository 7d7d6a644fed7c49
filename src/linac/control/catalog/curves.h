#pragma once
// The curves of a run's metrics, read: point by point, or thinned for drawing. metrics.h stores them.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/control/catalog/points.h"

namespace linac::catalog {

/// All points, sorted by step, then time, then arrival, from number `offset` on, `limit` at most.
std::vector<Point> curve(Database& database, const std::string& run, const std::string& key, int64_t offset = 0,
                         int64_t limit = INT64_MAX);

/// A stretch of a curve for drawing: `first_step`..`last_step`, how many points, the smallest, largest and last of its
/// finite values (NaN if there are none), and how many were not finite.
struct Stretch {
  int64_t first_step = 0, last_step = 0;
  int64_t time_ms = 0;  // of the last
  int64_t count = 0, not_finite = 0;
  double min = 0, max = 0, last = 0;
};
/// The curve within [from_step, to_step] in at most `stretches` parts of equal length in steps; empty parts are left
/// out. A curve with fewer points than that comes point by point. kInvalid unless `stretches` is 1 to kStretchesMax.
std::vector<Stretch> thinned(Database& database, const std::string& run, const std::string& key, int64_t stretches,
                             int64_t from_step = INT64_MIN, int64_t to_step = INT64_MAX);
constexpr int64_t kStretchesMax = 100000;

}  // namespace linac::catalog
