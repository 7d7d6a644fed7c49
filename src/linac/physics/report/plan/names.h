#pragma once
// Where the names of the points of a picture stand. Pure, thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"

namespace linac::report {

inline constexpr double kNameHeight = 12;
inline constexpr size_t kNamesMax = 40;  // of more points only those of the front are named

struct NamedPoint {
  plot::Point at;
  std::string name;
  double width = 0;                  // of the name, kNameHeight high
  bool front = false, good = false;  // of the front; fits, and meets deadline and budget
};

struct Segment {
  plot::Point from, to;
};

/// For each point the place of its name beside it: upon no other name and no point, and upon as few of the lines as can
/// be. The front goes first; the others, in their order, have none where there is no room. One for several points at
/// the same place.
std::vector<std::optional<plot::Rect>> places_of_names(const plot::Rect& area, const std::vector<NamedPoint>& points,
                                                       const std::vector<Segment>& lines);

}  // namespace linac::report
