#pragma once
// A matrix of shares as a heat map with its numbers. Thread-safe for different figures.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"

namespace linac::plot {

/// White at 0 to deep blue at 1, clamped outside.
Colour share_colour(double fraction);

struct NumberMatrix {
  size_t size = 0;                 // rows and columns
  std::vector<std::string> names;  // of both
  std::string row_label, column_label;
  std::vector<double> shares;      // [row][column], 0 to 1, row 0 at the top; NaN stays empty
  std::vector<std::string> notes;  // [row][column], small under the share; empty: none
};

/// Everything stays inside `outer`; names are elided, and numbers left out where the cells are too small.
void draw_number_matrix(Figure& figure, const Rect& outer, const NumberMatrix& matrix);

}  // namespace linac::plot
