#pragma once
// From a request of a column (event_table.h) to what files are asked for, and from their values to the memory of a
// batch. Pure, thread-safe.

#include <cstddef>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/io/data/formats/table_reader.h"

namespace linac::data {

/// User error for a request that cannot be.
void check_request(const ColumnRequest& request);

/// What the files are asked for: one column, or each of those joined.
std::vector<WantedColumn> wanted_of(const ColumnRequest& request);

/// How the values of a column are filled in, of a request that check_request() has passed.
struct ColumnFill {
  explicit ColumnFill(const ColumnRequest& request);

  /// Stored values of an event as they are wanted: scaled.
  void copy(const float* from, size_t count, float* to) const;
  /// A class as its number, or as its place in a list.
  void set_class(size_t place, float* to) const;

  size_t event_values = 1;            // of an event, with its padding
  size_t row_size = 1;                // values
  std::vector<float> offset, factor;  // a whole number of last axes; empty without scaling
  float padding = 0;
};

}  // namespace linac::data
