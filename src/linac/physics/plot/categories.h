#pragma once
// Colours and keys for pictures of several categories. Thread-safe for different figures.

#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"

namespace linac::plot {

/// Told apart by all kinds of eyes (M. Okabe and K. Ito, "Color universal design", 2008); they repeat after eight.
Colour category_colour(size_t category);

struct KeyEntry {
  std::string text;
  Stroke stroke = {};  // width 0: no line before the text
};

enum class Corner { kTopLeft, kTopRight, kBottomLeft, kBottomRight };

/// One entry a line on a white ground in a corner of the area; those beyond `lines_max` become "... and 3 more".
void draw_key(Figure& figure, const Rect& area, Corner corner, const std::vector<KeyEntry>& entries,
              size_t lines_max = 12);

}  // namespace linac::plot
