#pragma once
// What files of events hold, column by column, and which events are there more than once. One pass, in bounded memory,
// over all formats. Thread-safe.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "linac/base/columns/table_stats.h"

namespace linac::data {

struct StatsOptions {
  std::vector<std::string> train, test;                       // files, of expand()'s results; test may be empty
  std::vector<std::string> columns;                           // only these; empty: all that can be read
  std::vector<std::string> without;                           // these not
  int threads = 2;                                            // for columns side by side
  std::function<void(int64_t done, int64_t all)> progress{};  // bytes of the files, or of all where it is not known 0
  std::function<bool()> stop{};                               // looked at between blocks
};

/// The columns of the first training file; those that cannot be read, or hold another number of events, are left out.
/// Data errors of table_reader.h; data error naming --column where nothing is left; user error for a name that no
/// column has.
columns::TableStats table_stats(const StatsOptions& options);

}  // namespace linac::data
