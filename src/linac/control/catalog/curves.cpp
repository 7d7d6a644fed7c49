#include "linac/control/catalog/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/curve_reader.h"

namespace linac::catalog {
namespace {

/// Points one after the other, cut into stretches of `width` steps.
class Stretches {
 public:
  Stretches(int64_t first_step, uint64_t width) : first_step_(first_step), width_(width) {}

  void add(const Point& point) {
    const uint64_t distance = static_cast<uint64_t>(point.step) - static_cast<uint64_t>(first_step_);
    if (all_.empty() || distance > last_) {
      const uint64_t begin = distance / width_ * width_;
      last_ = begin > UINT64_MAX - (width_ - 1) ? UINT64_MAX : begin + (width_ - 1);
      all_.push_back({.first_step = point.step, .min = NAN, .max = NAN, .last = NAN});
    }
    extend(all_.back(), point);
  }
  std::vector<Stretch> take() { return std::move(all_); }

  static void extend(Stretch& s, const Point& point) {
    s.last_step = point.step;
    s.time_ms = point.time_ms;
    ++s.count;
    if (!std::isfinite(point.value)) {
      ++s.not_finite;
      return;
    }
    s.min = std::fmin(s.min, point.value);  // of a number and NaN: the number
    s.max = std::fmax(s.max, point.value);
    s.last = point.value;
  }

 private:
  int64_t first_step_;
  uint64_t width_, last_ = 0;  // of the present stretch, as a distance from first_step_
  std::vector<Stretch> all_;
};

}  // namespace

std::vector<Point> curve(Database& database, const std::string& run, const std::string& key, int64_t offset,
                         int64_t limit) {
  if (offset < 0 || limit < 0) throw Refusal(RefusalKind::kInvalid, "[metrics] offset and limit have to be 0 or more");
  CurveReader reader(database, run, key, INT64_MIN, INT64_MAX);
  int64_t skip = reader.skip(offset);
  std::vector<Point> points;
  while (static_cast<int64_t>(points.size()) < limit) {
    const auto piece = reader.next();
    if (piece.empty()) break;
    const auto size = static_cast<int64_t>(piece.size()), from = std::min(skip, size);
    skip -= from;
    const int64_t take = std::min(size - from, limit - static_cast<int64_t>(points.size()));
    points.insert(points.end(), piece.begin() + from, piece.begin() + from + take);
  }
  return points;
}

std::vector<Stretch> thinned(Database& database, const std::string& run, const std::string& key, int64_t stretches,
                             int64_t from_step, int64_t to_step) {
  if (stretches < 1 || stretches > kStretchesMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[metrics] a curve in {} stretches; give 1 to {}", stretches, kStretchesMax));
  CurveReader reader(database, run, key, from_step, to_step);
  const auto span = static_cast<uint64_t>(reader.last_step()) - static_cast<uint64_t>(reader.first_step());
  Stretches thin(reader.first_step(), span / static_cast<uint64_t>(stretches) + 1);
  std::vector<Stretch> single;  // as long as there are few points
  int64_t count = 0;
  for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
    for (const Point& point : piece) {
      thin.add(point);
      if (++count > stretches) continue;
      single.push_back({.first_step = point.step, .min = NAN, .max = NAN, .last = NAN});
      Stretches::extend(single.back(), point);
    }
  }
  return count <= stretches ? single : thin.take();
}

}  // namespace linac::catalog
