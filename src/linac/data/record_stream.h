#pragma once
// The records of a TFRecord file one after the other, with all checksums checked. One thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/storage/source.h"

namespace linac::data {

/// Nobody's event is larger; a length that says more is refused before memory is made for it.
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;

class RecordStream {
 public:
  /// `name` is what messages call the file.
  RecordStream(std::unique_ptr<storage::ByteStream> bytes, std::string name);

  /// The next record's data, valid until the next call; false at the end. Data error naming the record for one that is
  /// damaged or cut; errors of the stream with the record's number.
  bool next(std::span<const std::byte>& record);
  /// After a data error of next(): whether only that record's data are damaged, so that the next call goes on behind
  /// it.
  bool goes_on() const { return goes_on_; }
  /// Of the record that the last call of next() returned or refused and went on behind, from 0 on.
  int64_t number() const { return count_ - 1; }

 private:
  bool need_bytes(size_t bytes);
  [[noreturn]] void fail(const std::string& why) const;

  std::unique_ptr<storage::ByteStream> bytes_;
  const std::string name_;
  std::vector<std::byte> room_;
  size_t begin_ = 0, end_ = 0;  // of what is in room_ and not taken
  int64_t count_ = 0;           // records returned
  int64_t offset_ = 0;          // of the next record
  bool goes_on_ = false;
};

}  // namespace linac::data
