#include "linac/io/data/formats/record_marks.h"

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/data/formats/inflated_stream.h"

namespace linac::data {
namespace {

constexpr int64_t kApartBytes = int64_t{256} << 10;  // 16 bytes each: 64 KiB for a file of 1 GiB

}  // namespace

RecordMarks::RecordMarks(const std::shared_ptr<const storage::Source>& source)
    : places_{{}}, is_packed_(compression_of(*source) != Compression::kNone) {
  RecordStream records(unpacked_stream(source), source->url());
  RecordPlace place;
  for (std::span<const std::byte> bytes; records.next(bytes); place = records.place()) {
    if (events_ == 0) first_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!is_packed_ && place.offset >= places_.back().offset + kApartBytes) places_.push_back(place);
    ++events_;
    piece_is_done();
  }
}

RecordStream RecordMarks::open(const std::shared_ptr<const storage::Source>& source, int64_t first,
                               int64_t count) const {
  if (is_packed_) return {unpacked_stream(source), source->url()};
  const auto behind = [&](int64_t record) {
    return std::ranges::upper_bound(places_, record, {}, &RecordPlace::number);
  };
  const RecordPlace begin = *std::prev(behind(first));
  const auto end = count < 0 ? places_.end() : behind(first + count - 1);
  return {storage::Source::stream(source, begin.offset, end == places_.end() ? source->size() : end->offset),
          source->url(), begin};
}

}  // namespace linac::data
