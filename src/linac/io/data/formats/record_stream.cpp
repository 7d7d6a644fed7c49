#include "linac/io/data/formats/record_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/tfrecord.h"

namespace linac::data {
namespace {

constexpr size_t kRoomBytes = size_t{128} << 10;

}  // namespace

RecordStream::RecordStream(std::unique_ptr<storage::ByteStream> bytes, std::string name, RecordPlace first)
    : bytes_(std::move(bytes)), name_(std::move(name)), room_(kRoomBytes), next_(first) {}

void RecordStream::fail(const std::string& why) const {
  refuse_record(name_, static_cast<uint64_t>(next_.number), static_cast<uint64_t>(next_.offset), why);
}

// Memory grows with what has come, and not with what a length promises.
bool RecordStream::need_bytes(size_t bytes) {
  while (end_ - begin_ < bytes) {
    if (begin_ > 0) {
      std::memmove(room_.data(), room_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == room_.size()) room_.resize(2 * room_.size());
    size_t got = 0;
    try {
      got = bytes_->read(std::span(room_).subspan(end_));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      throw data_error(fmt::format("{} (at record {})", error.what(), next_.number));
    }
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

bool RecordStream::next(std::span<const std::byte>& record) {
  goes_on_ = false;
  if (!need_bytes(kTfrecordHeaderBytes)) {
    if (begin_ == end_) return false;
    fail("the file ends inside it");
  }
  const uint64_t length =
      length_of_record(std::span<const std::byte>(room_).subspan(begin_, kTfrecordHeaderBytes), name_,
                       static_cast<uint64_t>(next_.number), static_cast<uint64_t>(next_.offset));
  if (length > kRecordBytesMax) fail(fmt::format("it is said to have {} bytes", length));
  const size_t framed = kTfrecordHeaderBytes + length + kTfrecordFooterBytes;
  if (!need_bytes(framed)) fail("the file ends inside it");
  const auto bytes =
      std::span<const std::byte>(room_).subspan(begin_ + kTfrecordHeaderBytes, length + kTfrecordFooterBytes);
  record = bytes.first(length);
  const auto number = static_cast<uint64_t>(next_.number), offset = static_cast<uint64_t>(next_.offset);
  begin_ += framed;
  next_.offset += static_cast<int64_t>(framed);
  ++next_.number;
  goes_on_ = true;
  need_intact(record, bytes.subspan(length), name_, number, offset);
  return true;
}

}  // namespace linac::data
