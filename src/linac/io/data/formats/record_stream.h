#pragma once
// The records of a TFRecord file one after the other, with all checksums checked. One thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/storage/source.h"

namespace linac::data {

/// Nobody's event is larger; a length that says more is refused before memory is made for it.
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;

/// Where a record begins.
struct RecordPlace {
  int64_t number = 0, offset = 0;
};

class RecordStream {
 public:
  /// `name` is what messages call the file; `first`: the record that `bytes` begin with.
  RecordStream(std::unique_ptr<storage::ByteStream> bytes, std::string name, RecordPlace first = {});

  /// The next record's data, valid until the next call; false at the end. Data error naming the record for one that is
  /// damaged or cut; errors of the stream with the record's number.
  bool next(std::span<const std::byte>& record);
  /// After a data error of next(): whether only that record's data are damaged, so that the next call goes on behind
  /// it.
  bool goes_on() const { return goes_on_; }
  /// Of the record that the last call of next() returned or refused and went on behind, from 0 on.
  int64_t number() const { return next_.number - 1; }
  /// Of the record that the next call returns.
  const RecordPlace& place() const { return next_; }

 private:
  bool need_bytes(size_t bytes);
  [[noreturn]] void fail(const std::string& why) const;

  std::unique_ptr<storage::ByteStream> bytes_;
  const std::string name_;
  std::vector<std::byte> room_;
  size_t begin_ = 0, end_ = 0;  // of what is in room_ and not taken
  RecordPlace next_;
  bool goes_on_ = false;
};

}  // namespace linac::data
