#pragma once
// Reads a curve in the order of its steps, a piece at a time: memory holds one piece and, of a curve that did not
// arrive in that order, the blocks that overlap. Private to the module; one transaction of its connection.

#include <string>
#include <vector>

#include "linac/control/catalog/database.h"
#include "linac/control/catalog/points.h"

namespace linac::catalog {

class CurveReader {
 public:
  /// kNotFound for the run; a key that it does not have is an empty curve.
  CurveReader(Database& database, const std::string& run, const std::string& key, int64_t from_step, int64_t to_step);

  /// The next points within the steps asked for, sorted by step, time, arrival; empty at the end.
  std::vector<Point> next();
  /// Passes over `n` points of the whole curve without reading all of them; how many are still to be passed over.
  int64_t skip(int64_t n);

  /// The smallest and largest step of the blocks that hold the steps asked for, cut to these.
  int64_t first_step() const { return first_step_; }
  int64_t last_step() const { return last_step_; }

 private:
  struct Block {
    int64_t first, count, step_min, step_max;
  };
  struct Arrived {
    Point point;
    int64_t number;
  };
  void load();
  std::vector<Point> sorted_below(int64_t step, bool all);

  Database& database_;
  int64_t series_ = 0, from_step_, to_step_, first_step_ = 0, last_step_ = 0;
  bool in_order_ = true;
  std::vector<Block> blocks_;  // in the order of their first steps
  size_t at_ = 0;
  std::vector<Arrived> waiting_;  // read, but a later block may hold smaller steps
};

}  // namespace linac::catalog
