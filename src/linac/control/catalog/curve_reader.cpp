#include "linac/control/catalog/curve_reader.h"

#include <algorithm>
#include <tuple>

#include "linac/control/catalog/records.h"

namespace linac::catalog {
namespace {

constexpr int64_t kPiecePoints = 32768;

}  // namespace

CurveReader::CurveReader(Database& database, const std::string& run, const std::string& key, int64_t from_step,
                         int64_t to_step)
    : database_(database), from_step_(from_step), to_step_(to_step) {
  const auto series =
      database.first("SELECT number, in_order FROM series WHERE run = $1 AND key = $2", run_number(database, run), key);
  if (!series) return;
  series_ = series->integer(0);
  in_order_ = series->integer(1) != 0;
  for (const Row& row :
       database.query("SELECT first, count, step_min, step_max FROM blocks WHERE series = $1 AND step_max >= $2 "
                      "AND step_min <= $3 ORDER BY first",
                      series_, from_step, to_step))
    blocks_.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3)});
  if (blocks_.empty()) return;
  if (!in_order_)
    std::stable_sort(blocks_.begin(), blocks_.end(),
                     [](const Block& a, const Block& b) { return a.step_min < b.step_min; });
  first_step_ = std::max(from_step, blocks_.front().step_min);
  last_step_ = first_step_;
  for (const Block& block : blocks_) last_step_ = std::max(last_step_, std::min(to_step, block.step_max));
}

int64_t CurveReader::skip(int64_t n) {
  if (!in_order_) return n;
  while (at_ < blocks_.size() && blocks_[at_].count <= n) n -= blocks_[at_++].count;
  return n;
}

void CurveReader::load() {
  const size_t begin = at_;
  int64_t points = 0;
  do points += blocks_[at_++].count;
  while (at_ < blocks_.size() && points + blocks_[at_].count <= kPiecePoints &&
         blocks_[at_].first == blocks_[at_ - 1].first + blocks_[at_ - 1].count);
  waiting_.reserve(waiting_.size() + static_cast<size_t>(points));
  for (const Row& row :
       database_.query("SELECT first, points FROM blocks WHERE series = $1 AND first >= $2 AND first <= $3 "
                       "ORDER BY first",
                       series_, blocks_[begin].first, blocks_[at_ - 1].first)) {
    int64_t number = row.integer(0);
    for (const Point& point : unpacked(row.bytes(1))) {
      if (point.step >= from_step_ && point.step <= to_step_) waiting_.push_back({point, number});
      ++number;
    }
  }
}

std::vector<Point> CurveReader::sorted_below(int64_t step, bool all) {
  auto end = waiting_.end();
  if (!in_order_) {
    if (!all) end = std::partition(waiting_.begin(), end, [&](const Arrived& a) { return a.point.step < step; });
    std::sort(waiting_.begin(), end, [](const Arrived& a, const Arrived& b) {
      return std::tie(a.point.step, a.point.time_ms, a.number) < std::tie(b.point.step, b.point.time_ms, b.number);
    });
  }
  std::vector<Point> points;
  points.reserve(static_cast<size_t>(end - waiting_.begin()));
  for (auto at = waiting_.begin(); at != end; ++at) points.push_back(at->point);
  waiting_.erase(waiting_.begin(), end);
  return points;
}

std::vector<Point> CurveReader::next() {
  while (at_ < blocks_.size()) {
    load();
    const bool all = at_ == blocks_.size();
    auto points = sorted_below(all ? 0 : blocks_[at_].step_min, all || in_order_);
    if (!points.empty()) return points;
  }
  return {};
}

}  // namespace linac::catalog
