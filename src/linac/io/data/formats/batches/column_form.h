#pragma once
// What a column of a batch is once its lists are taken apart, for formats that have no lists of lists. For the sources
// of this module only: needs Arrow's headers. A FlatColumn is used by one thread.

#include <arrow/api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace linac::data {

enum class LeafKind { kFloats, kIntegers, kTexts, kBytes };

struct ColumnForm {
  std::shared_ptr<arrow::DataType> leaf;  // of the innermost values; never a dictionary
  LeafKind kind = LeafKind::kFloats;      // booleans are integers
  bool is_list = false;                   // so many rows as each event has
  /// Of an event, or of a row where is_list: the outermost first; 0: the same in all rows, as the first one tells.
  std::vector<int64_t> extents = {};
};

/// Nothing for structs, maps, times, decimals, lists of varying length inside arrays, and arrays without values.
std::optional<ColumnForm> form_of(const std::shared_ptr<arrow::DataType>& type);

class FlatColumn {
 public:
  /// `type` has a form; `format`: what messages call the format that is written.
  FlatColumn(std::string name, const std::shared_ptr<arrow::DataType>& type, std::string format);

  const std::string& name() const { return name_; }
  const ColumnForm& form() const { return form_; }
  /// Whether all of form().extents are known.
  bool has_extents() const;
  /// Values of a row, or of an event where there are no rows; all extents are known.
  int64_t row_values() const;

  /// The next events, the first of which is number `first_event` of those that are written. Data error, which begins
  /// with `from`, for nulls and for rows of several sizes.
  void take(const std::shared_ptr<arrow::Array>& array, int64_t first_event, const std::string& from);
  /// Of the events that were taken last: all innermost values, and where those of each event begin, and their end.
  const arrow::Array& values() const { return *values_; }
  const std::vector<int64_t>& starts() const { return starts_; }
  /// The text of innermost value i.
  std::string_view text(int64_t i) const;
  /// Throws the data error for innermost value i of those that were taken last.
  [[noreturn]] void refuse(int64_t i, const std::string& what) const;

 private:
  void descend();
  template <class ListArray>
  void descend_as();
  void refuse_null() const;

  const std::string name_, format_;
  ColumnForm form_;
  std::shared_ptr<arrow::Array> values_;
  std::vector<int64_t> starts_;
  int64_t first_event_ = 0;
  size_t level_ = 0;  // of the lists, while they are taken apart
  std::string from_;
};

}  // namespace linac::data
