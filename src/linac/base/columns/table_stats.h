#pragma once
// What files of events hold: their columns, and the events that are there more than once. Plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/columns/column_stats.h"
#include "linac/base/columns/duplicates.h"

namespace linac::columns {

struct SideStats {
  std::vector<std::string> urls;
  std::vector<int64_t> file_events;  // of each
  int64_t events = 0, bytes = 0;
  std::vector<ColumnStats> columns;
};

struct LeftOutColumn {
  std::string name, why;
};

struct TableStats {
  SideStats train, test;
  Duplicates::Found duplicates;  // by the columns that are looked at
  std::vector<LeftOutColumn> left_out;
  bool stopped = false;  // what is there is of the events up to here
};

}  // namespace linac::columns
