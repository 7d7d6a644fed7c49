#include "linac/physics/plot/categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace linac::plot {

Colour category_colour(size_t category) {
  static constexpr std::array<Colour, 8> kColours{{{0.00, 0.45, 0.70},
                                                   {0.84, 0.37, 0.00},
                                                   {0.00, 0.62, 0.45},
                                                   {0.80, 0.47, 0.65},
                                                   {0.90, 0.62, 0.00},
                                                   {0.34, 0.71, 0.91},
                                                   {0.45, 0.40, 0.20},
                                                   {0.25, 0.25, 0.28}}};
  return kColours[category % kColours.size()];
}

void draw_key(Figure& figure, const Rect& area, Corner corner, const std::vector<KeyEntry>& entries, size_t lines_max) {
  constexpr double kMargin = 7, kLine = 14, kSample = 18, kGap = 6;
  const TextStyle style{.size = 8.5};
  std::vector<KeyEntry> shown(entries.begin(),
                              entries.begin() + static_cast<std::ptrdiff_t>(std::min(entries.size(), lines_max)));
  if (entries.size() > lines_max)
    shown.push_back({.text = fmt::format("… and {} more", entries.size() - lines_max), .stroke = {.width = 0}});
  if (shown.empty()) return;
  double width = 0;
  for (const KeyEntry& entry : shown)
    width = std::max(width, figure.text_width(entry.text, style) + (entry.stroke.width > 0 ? kSample + kGap : 0));
  width = std::min(width, area.width - 4 * kMargin);
  const double height = kLine * static_cast<double>(shown.size());
  const bool right = corner == Corner::kTopRight || corner == Corner::kBottomRight;
  const bool bottom = corner == Corner::kBottomLeft || corner == Corner::kBottomRight;
  const double x = right ? area.right() - kMargin - width : area.x + kMargin;
  double y = bottom ? area.bottom() - kMargin - height : area.y + kMargin;
  const std::array<Point, 4> ground{Point{x - 4, y - 2}, Point{x + width + 4, y - 2},
                                    Point{x + width + 4, y + height + 2}, Point{x - 4, y + height + 2}};
  figure.polygon(ground, kPaper, 0.85);
  for (const KeyEntry& entry : shown) {
    const bool line = entry.stroke.width > 0;
    const double middle = y + kLine / 2, text = line ? x + kSample + kGap : x;
    if (line) figure.line({x, middle}, {x + kSample, middle}, entry.stroke);
    figure.text({text, middle}, figure.elided(entry.text, x + width - text + 0.5, style), style);
    y += kLine;
  }
}

}  // namespace linac::plot
