#pragma once
// The columns that formulas see in a block of events: values in float64, rows, and their order. Not thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/expression/program.h"
#include "linac/io/data/formats/table_reader.h"

namespace linac::data {

/// Of a column: where it lies and what it is.
struct BlockColumn {
  std::string name;
  expression::Type type;
  std::optional<float> padding = {};  // rows of it at the end of a list of rows are no rows
  RaggedColumn data = {};             // exact, or of float32
  uint32_t row_size = 1;              // as the reader's wanted column says; else that of the data
  std::vector<uint32_t> origin = {};  // where follow() was called: the row of the block as stored that each row was

  size_t values_of(size_t event) const { return size_t{data.rows[event]} * row_size; }
  /// Takes rows of padding off the ends.
  void strip();
  /// Events had `stored` rows, of which the last ones may be gone.
  void follow(const std::vector<uint32_t>& stored);
  /// Row kept[i] of the column becomes row i, and event i has rows[i] of them.
  void rearrange(std::span<const uint32_t> kept, const std::vector<uint32_t>& rows);
  /// As a formula takes it; data is exact.
  expression::Block block() const;
};

/// The rows that a rule leaves of lists of `rows` in each event, as places in the block, and their numbers in `left`.
/// `filter`, `sort`: a value a row; empty: none. NaN is sorted to the end.
std::vector<uint32_t> kept_rows(std::span<const uint32_t> rows, std::span<const double> filter,
                                std::span<const double> sort, int64_t first, std::vector<uint32_t>& left);

}  // namespace linac::data
