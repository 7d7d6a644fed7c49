#pragma once
// One event file read once from its first event to its last: the way in for every format of an EventTable. A column is
// a list of rows an event, however the format nests them. A reader is used by one thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/formats/table.h"
#include "linac/io/data/formats/text_codes.h"

namespace linac::data {

/// A column as a table wants it. The first axis of its shape counts rows, the others make a row; {} and {n} have rows
/// of one value.
struct WantedColumn {
  /// Integers below are float64 without rounding.
  static constexpr double kExactMax = 9007199254740992;  // 2^53

  std::string name;
  std::vector<int64_t> shape;
  std::vector<std::string> zipped = {};  // columns that make its rows (zipped_rows.h); `name` is what they are called
  bool joined = false;                   // to others: a number or a list, as the file has it; the shape is {}
  bool texts = false;                    // one text an event is as good; the shape has one axis at most
  bool exact = false;      // its values are float64, in RaggedColumn::exact; an integer from kExactMax on is refused
  bool as_stored = false;  // a number, a list or a list of rows, as the file has it; the shape is {}
  bool any_form = false;   // the same, rows of any size, a null as NaN: RaggedColumn::sizes counts values
  float padding = 0;       // rows of it at the end of a list of rows are padding

  int64_t row_size() const;
  /// One number an event: {}, {1}, {1, 1}, ...
  bool is_number() const;
  std::string describe() const;  // "[801, 19]", "one number", "a number or a list"
};

/// How a file stores a wanted column.
struct StoredColumn {
  std::string words;        // "list<list<float>>", "[events, 801, 19]"
  bool is_number = false;   // one value an event, not a list that may have one
  bool is_text = false;     // one text an event: its values are places in TableReader::texts()
  bool is_boolean = false;  // its numbers are true and false
  int axes = -1;            // of an event: 0 a number, 1 a list, 2 a list of rows; -1: as is_number says
  bool is_double = false, is_float = false;  // its numbers are float64; or float32 or less
  std::vector<StoredText> texts = {};        // of a file that has been read
};

/// One column in a run of events: event i has rows[i] rows, whose values follow those of the events before.
struct RaggedColumn {
  std::vector<float> values;
  std::vector<uint32_t> rows;
  std::vector<double> exact = {};    // in place of values, where the column is wanted so
  uint32_t row_size = 0;             // of a column that is wanted as stored: values of a row; 0 without any row
  std::vector<uint32_t> sizes = {};  // of a column that is wanted in any form: values of each event
  int64_t nulls = 0;                 // the same: of the values
  std::vector<uint64_t> rests = {};  // the same: rest_beyond_float32() of each value; none where all are 0
};

/// What float32 leaves of a stored value: 0 of one that it holds, else a number that tells the value apart from others
/// with the same float32. A whole number has the same one as integer and as float64.
uint64_t rest_beyond_float32(int64_t value);
uint64_t rest_beyond_float32(uint64_t value);
uint64_t rest_beyond_float32(double value);

class TableReader {
 public:
  virtual ~TableReader() = default;
  /// -1 where only reading to the end tells.
  virtual int64_t events() const = 0;
  virtual const std::vector<StoredColumn>& columns() const = 0;
  /// The next events, as many as fit in bounded memory, a column for each wanted one; none after the last. Data error
  /// naming file, column and event for what is damaged, null, or has rows of another size than wanted.
  virtual void next(std::vector<RaggedColumn>& out) = 0;
  /// Of columns that hold texts: those of column i so far.
  virtual const std::vector<StoredText>& texts(size_t i) const { return codes_.at(i).texts(); }

 protected:
  std::vector<TextCodes> codes_;  // one a column
};

/// Data error naming file and column for one that is missing (with those the file has), holds no numbers, or has rows
/// of another shape. Of another host's file no more is read than the format needs.
std::unique_ptr<TableReader> open_table_reader(const SourcePtr& source, const std::vector<WantedColumn>& columns);

// What the table of formats has of each.
std::unique_ptr<TableReader> open_hdf5_table(const SourcePtr& source, const std::vector<WantedColumn>& columns);
std::unique_ptr<TableReader> open_parquet_table(const SourcePtr& source, const std::vector<WantedColumn>& columns);
std::unique_ptr<TableReader> open_arrow_table(const SourcePtr& source, const std::vector<WantedColumn>& columns);
/// Of the file's only tree or RNTuple, by the names of branches and fields; in all cases also by "TREE/COLUMN".
std::unique_ptr<TableReader> open_root_table(const SourcePtr& source, const std::vector<WantedColumn>& columns);
std::unique_ptr<TableReader> open_tfrecord_table(const SourcePtr& source, const std::vector<WantedColumn>& columns);

/// What a file holds, for people: "particles list<list<float>>", "features [500, 14]", "label (a list of 1 integers)".
struct TableContents {
  std::string format;
  int64_t events = 0;  // -1: only reading to the end tells
  std::vector<std::string> columns;
  std::vector<std::string> of_texts = {};  // names of those that hold one text an event
  std::vector<std::string> names = {};     // of all
};

/// By the file's schema; a TFRecord file has none, so its first record speaks for all, and `events` is -1. Data error
/// for a file that cannot be read.
TableContents contents_of_table(const SourcePtr& source);

/// Of a file whose contents do not say it: all records are read.
int64_t count_events(const SourcePtr& source);

/// The different texts of a column, sorted, and how many events have each. Reads the whole column. Data errors as
/// TextCodes::code().
std::vector<StoredText> count_texts(const SourcePtr& source, const std::string& column);

TableContents hdf5_contents(const SourcePtr& source);
TableContents parquet_contents(const SourcePtr& source);
TableContents arrow_contents(const SourcePtr& source);
/// The events are those of the table that has most; columns of others say theirs.
TableContents root_contents(const SourcePtr& source);
TableContents tfrecord_contents(const SourcePtr& source);

/// 0: of any length.
std::vector<int64_t> hdf5_event_shape(const SourcePtr& source, const std::string& column);
int64_t parquet_column_bytes(const SourcePtr& source, const std::vector<std::string>& columns);

/// Throws the data error for a column whose stored form does not fit the wanted one; `event` < 0: in the whole file.
[[noreturn]] void refuse_column(const std::string& name, const WantedColumn& wanted, const std::string& stored,
                                int64_t event = -1);

/// Throws the data error for a column that is not there; `found`: those that are. `where` is what it begins with.
[[noreturn]] void refuse_missing(const std::string& name, const std::string& column,
                                 const std::vector<std::string>& found, const char* where = "data");

/// Throws the data error for a column of texts where numbers are wanted.
[[noreturn]] void refuse_texts(const std::string& name, const std::string& column, const std::string& stored);

/// Throws the data error for an integer that float64 would round.
[[noreturn]] void refuse_integer(const std::string& name, const std::string& column, int64_t event);

/// "a list of 5 values", for refuse_column().
std::string list_of(int64_t values);

/// Rows in `values` values of a plain list; data error when the last one would not be whole.
uint32_t rows_of_list(const std::string& name, const WantedColumn& wanted, uint64_t values, int64_t event);

/// True when rows stored with these extents are the wanted rows: the same axes but for those of one element, or one
/// axis with all values.
bool rows_fit(const WantedColumn& wanted, std::span<const int64_t> stored);

}  // namespace linac::data
