#pragma once
// For the tests of this module only: the same made-up events in every format of an EventTable.

#include <arrow/api.h>

#include <array>
#include <string>
#include <vector>

#include "linac/io/data/event_table.h"

namespace linac::data::testing {

struct TestEvents {
  std::vector<std::vector<std::array<float, 3>>> particles;  // another number in each event, some have none
  std::vector<std::array<float, 4>> features;                // the last is often 0
  std::vector<int> labels;

  size_t size() const { return labels.size(); }
};

/// Event i has i % 6 particles; `first` numbers the events, so two sets can differ.
TestEvents make_events(size_t count, size_t first = 0);

/// With the ending .arrow as such a file. The columns "particles" list<list<float>>, "features" list<double>, "label" int32.
void write_parquet(const std::string& path, const TestEvents& events, int64_t row_group_events = 7);
/// The same with `rows` particles in every event, the last ones 0.
void write_tfrecord(const std::string& path, const TestEvents& events, size_t rows);
void write_hdf5(const std::string& path, const TestEvents& events, size_t rows);

/// Columns by hand.
void write_parquet(const std::string& path, const std::vector<std::string>& names,
                   const std::vector<std::shared_ptr<arrow::Array>>& columns);
/// One column by hand.
void write_parquet(const std::string& path, const std::string& name, const std::shared_ptr<arrow::Array>& column);

/// {particles {rows, 3}, features {4}, label {}}, unscaled.
std::vector<ColumnRequest> requests(int64_t rows);

/// All events in order.
TableBatch read_all(const EventTable& table);

}  // namespace linac::data::testing
