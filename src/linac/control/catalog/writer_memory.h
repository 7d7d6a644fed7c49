#pragma once
// What the one writing connection remembers of runs and series, so that appending a point needs no question to the
// database. Forgotten as a whole when a transaction is undone, and when it has grown to kEntriesMax. Not thread-safe.

#include <cstdint>
#include <string>
#include <unordered_map>

#include "linac/control/catalog/points.h"

namespace linac::catalog {

/// A row of the table `series`, without its key. A curve's points lie in blocks in the order of their arrival: large
/// ones, then from number `middle_first` on middling ones, from `tail_first` on small ones.
struct SeriesState {
  int64_t number = 0;  // 0: not in the table yet
  int64_t count = 0, not_finite = 0;
  int64_t tail_first = 0, tail_blocks = 0;
  int64_t middle_first = 0, middle_blocks = 0;
  bool in_order = true;  // by step and time, so far
  Point last;
  bool any_finite = false;
  double min = 0, max = 0;
};

struct RememberedRun {
  int64_t number = 0;
  int64_t names = -1;  // of its metrics; -1: not counted yet
  std::unordered_map<std::string, SeriesState> series;
};

class WriterMemory {
 public:
  static constexpr size_t kEntriesMax = 50000;

  /// Null if not known. What it returns holds until the next call of make_room() or forget.
  RememberedRun* run(const std::string& id) {
    const auto found = runs_.find(id);
    return found == runs_.end() ? nullptr : &found->second;
  }
  RememberedRun& add_run(const std::string& id, int64_t number) {
    make_room();
    auto& run = runs_[id];
    run.number = number;
    return run;
  }
  void count_series() { ++entries_; }
  void forget(const std::string& id) { runs_.erase(id); }
  void forget_all() {
    runs_.clear();
    entries_ = 0;
  }

 private:
  void make_room() {
    if (entries_++ >= kEntriesMax) forget_all();
  }
  std::unordered_map<std::string, RememberedRun> runs_;
  size_t entries_ = 0;
};

}  // namespace linac::catalog
