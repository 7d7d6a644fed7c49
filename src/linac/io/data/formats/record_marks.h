#pragma once
// Where records of a TFRecord file begin, noted while they are counted, so that a later reader begins near the events
// that it wants. A value; thread-safe once made.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linac/io/data/formats/record_stream.h"
#include "linac/io/storage/source.h"

namespace linac::data {

class RecordMarks {
 public:
  /// Reads all records. Data errors as of RecordStream.
  explicit RecordMarks(const std::shared_ptr<const storage::Source>& source);

  int64_t events() const { return events_; }
  /// The data of the file's first record; empty without one.
  const std::string& first_record() const { return first_; }
  /// The records [first, first + count) and some before and behind them; count < 0: to the end. `source` is the one
  /// that was counted. A file that is compressed as a whole has one place to begin: its beginning.
  RecordStream open(const std::shared_ptr<const storage::Source>& source, int64_t first, int64_t count) const;

 private:
  int64_t events_ = 0;
  std::string first_;
  std::vector<RecordPlace> places_;  // the file's beginning, and one some kilobytes behind the other
  bool is_packed_;
};

}  // namespace linac::data
