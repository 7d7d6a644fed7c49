#include "linac/physics/report/plan/names.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace linac::report {
namespace {

constexpr double kBeside = 7, kBelow = 3, kAbove = kBelow + kNameHeight;  // from a point to its name
constexpr double kDisc = 4, kNear = 3;

bool overlap(const plot::Rect& a, const plot::Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

bool crosses(const Segment& line, const plot::Rect& box) {
  // Liang and Barsky: what of the line is left when each side of the box has cut it.
  const double dx = line.to.x - line.from.x, dy = line.to.y - line.from.y;
  double begin = 0, end = 1;
  for (const auto& [step, room] : {std::pair{-dx, line.from.x - box.x},
                                   {dx, box.right() - line.from.x},
                                   {-dy, line.from.y - box.y},
                                   {dy, box.bottom() - line.from.y}}) {
    if (step == 0 && room < 0) return false;
    if (step < 0) begin = std::max(begin, room / step);
    if (step > 0) end = std::min(end, room / step);
  }
  return begin < end;
}

// Where a name of this size stands beside a point: upon no other name and no point, and upon as few lines as can be.
std::optional<plot::Rect> room_beside(plot::Point at, double width, const plot::Rect& area,
                                      const std::vector<plot::Rect>& taken, const std::vector<Segment>& lines) {
  std::optional<plot::Rect> best;
  ptrdiff_t fewest = 0;
  for (const double left : {at.x + kBeside, at.x - kBeside - width}) {
    for (const double top : {at.y - kAbove, at.y + kBelow}) {
      const plot::Rect box{left, top, width, kNameHeight};
      if (box.x < area.x || box.right() > area.right() || box.y < area.y || box.bottom() > area.bottom()) continue;
      if (std::ranges::any_of(taken, [&](const plot::Rect& other) { return overlap(box, other); })) continue;
      const ptrdiff_t crossed = std::ranges::count_if(lines, [&](const Segment& line) { return crosses(line, box); });
      if (best && crossed >= fewest) continue;
      best = box;
      fewest = crossed;
    }
  }
  return best;
}

}  // namespace

std::vector<std::optional<plot::Rect>> places_of_names(const plot::Rect& area, const std::vector<NamedPoint>& points,
                                                       const std::vector<Segment>& lines) {
  std::vector<size_t> order;
  for (const bool front : {true, false})
    for (size_t i = 0; i < points.size(); ++i)
      if (points[i].front == front && (front || points.size() <= kNamesMax)) order.push_back(i);
  std::vector<plot::Rect> taken;
  for (const size_t i : order) taken.push_back({points[i].at.x - kDisc, points[i].at.y - kDisc, 2 * kDisc, 2 * kDisc});
  std::vector<std::optional<plot::Rect>> places(points.size());
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const NamedPoint& point = points[order[rank]];
    const auto same = [&](size_t other) {
      return std::abs(points[other].at.x - point.at.x) < kNear && std::abs(points[other].at.y - point.at.y) < kNear;
    };
    if (std::ranges::any_of(std::span(order).first(rank), same)) continue;
    auto place = room_beside(point.at, point.width, area, taken, lines);
    if (!place && point.front) place = plot::Rect{point.at.x + kBeside, point.at.y - kAbove, point.width, kNameHeight};
    if (place) taken.push_back(*place);
    places[order[rank]] = place;
  }
  return places;
}

}  // namespace linac::report
