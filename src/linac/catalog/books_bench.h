#pragma once
// How fast the books are: points written durably by many at once, the first page of a large table of runs, a long curve
// thinned. Fills the books that it is given, which should be empty ones.

#include <functional>
#include <string>
#include <vector>

namespace linac::catalog {

struct BooksBenchOptions {
  std::string url;
  int writers = 32;
  int batch_points = 100;
  double seconds = 5;  // of writing in batches, and again of single points
  int runs = 20000;
  int metrics_of_run = 5;
  int64_t curve_points = 1000000;
  int repeats = 100;  // of each question
};

struct BooksBenchFigure {
  std::string name;           // "points a second in batches"
  double value = 0, p99 = 0;  // p99: of times, 0 for rates
  std::string unit;
};

/// Measures one after the other and tells each figure as it is there. Errors of Books.
std::vector<BooksBenchFigure> measure_books(const BooksBenchOptions& options,
                                            const std::function<void(const BooksBenchFigure&)>& tell);

}  // namespace linac::catalog
