#pragma once
// How fast the catalog is: points written durably by many at once, the first page of a large table of runs, a long
// curve thinned. Fills the catalog that it is given, which should be an empty one.

#include <functional>
#include <string>
#include <vector>

namespace linac::catalog {

struct CatalogBenchOptions {
  std::string url;
  int writers = 32;
  int batch_points = 100;
  double seconds = 5;  // of writing in batches, and again of single points
  int runs = 20000;
  int metrics_of_run = 5;
  int64_t curve_points = 1000000;
  int repeats = 100;  // of each question
};

struct CatalogBenchFigure {
  std::string name;           // "points a second in batches"
  double value = 0, p99 = 0;  // p99: of times, 0 for rates
  std::string unit;
};

/// Measures one after the other and tells each figure as it is there. Errors of Catalog.
std::vector<CatalogBenchFigure> measure_catalog(const CatalogBenchOptions& options,
                                                const std::function<void(const CatalogBenchFigure&)>& tell);

}  // namespace linac::catalog
