#pragma once
// Constants that bring a column's features to one size: computed once from the training events, kept in a JSON file
// beside the data, given to EventTable as ColumnRequest's offset and factor. The file has an object for each column,
// with lists of one number a feature (a last axis): "mean" and "std" (population), "min" and "max". What else it holds
// is not looked at.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "linac/io/data/event_table.h"

namespace linac::data {

/// A stored x becomes (x - offset) * factor.
struct ColumnScaling {
  std::vector<float> offset, factor;
};

/// `method` "standard": (x - mean) / std; "min_max": (x - min) / (max - min). A feature that is the same in every event
/// (no spread) gets the factor 1. `length` is the column's last axis; 0: any. User error for another method; data error
/// naming file, column and key for what is missing, no list of finite numbers, of another length, or a negative spread.
ColumnScaling read_scaling(const std::filesystem::path& path, const std::string& column, const std::string& method,
                           size_t length);

/// Computes the constants of the table's columns, opened without scaling, over all events and, in lists of rows, over
/// the rows that are not padding, and writes them as read_scaling() takes them. Environment error when it cannot be
/// written.
void write_scaling(const EventTable& table, const std::filesystem::path& path);

}  // namespace linac::data
