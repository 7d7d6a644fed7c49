#include "linac/storage/read_ahead.h"

#include <algorithm>
#include <cstring>

#include "linac/base/error.h"
#include "linac/storage/source.h"

namespace linac::storage {

ReadAhead::ReadAhead(std::shared_ptr<const Source> source, const std::vector<Piece>& pieces)
    : source_(std::move(source)) {
  for (Piece left : pieces) {
    LINAC_CHECK(left.offset >= 0 && left.bytes >= 0 && left.bytes <= source_->size() - left.offset);
    while (left.bytes > 0) {
      const int64_t bytes = std::min(left.bytes, kAheadRequestBytes);
      add({left.offset, bytes});
      left = {left.offset + bytes, left.bytes - bytes};
    }
  }
  for (size_t i = 0; i < ranges_.size(); ++i) by_offset_.emplace(ranges_[i].offset, i);
  const size_t threads = std::min<size_t>(ranges_.size(), kAheadConnections);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::add(const Piece& piece) {
  if (!ranges_.empty()) {
    Range& last = ranges_.back();
    const int64_t hole = piece.offset - (last.offset + last.bytes);
    const int64_t bytes = piece.offset + piece.bytes - last.offset;
    if (hole >= 0 && hole <= kAheadHoleBytes && bytes <= kAheadRequestBytes) {
      last.bytes = bytes;
      last.wanted += piece.bytes;
      return;
    }
  }
  ranges_.push_back({.offset = piece.offset, .bytes = piece.bytes, .wanted = piece.bytes});
}

ReadAhead::Range* ReadAhead::next_range() {
  if (!urgent_.empty()) {
    Range* const range = urgent_.front();
    urgent_.pop_front();
    return range;
  }
  while (next_ < ranges_.size() && ranges_[next_].state != State::kWaits) ++next_;
  return next_ < ranges_.size() && held_ < kAheadHeldBytes ? &ranges_[next_++] : nullptr;
}

void ReadAhead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Range* range = nullptr;
    room_.wait(lock, [&] { return stop_ || (range = next_range()) != nullptr; });
    if (stop_) return;
    if (range->state != State::kWaits) continue;  // urgent, and taken meanwhile
    range->state = State::kOnItsWay;
    held_ += range->bytes;
    lock.unlock();
    std::exception_ptr error;
    try {
      range->content.resize(static_cast<size_t>(range->bytes));
      source_->read(range->offset, range->content);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    range->error = error;
    range->state = State::kThere;
    arrived_.notify_all();
  }
}

ReadAhead::Range* ReadAhead::range_at(int64_t offset, int64_t& end) {
  auto after = by_offset_.upper_bound(offset);
  if (after != by_offset_.end()) end = std::min(end, after->first);
  if (after == by_offset_.begin()) return nullptr;
  Range& range = ranges_[std::prev(after)->second];
  if (offset >= range.offset + range.bytes) return nullptr;
  end = std::min(end, range.offset + range.bytes);
  return range.state == State::kGone ? nullptr : &range;
}

void ReadAhead::read(int64_t offset, std::span<std::byte> bytes) {
  std::unique_lock lock(mutex_);
  while (!bytes.empty()) {
    int64_t end = offset + static_cast<int64_t>(bytes.size());
    Range* const range = range_at(offset, end);
    const auto part = bytes.first(static_cast<size_t>(end - offset));
    if (range == nullptr) {
      lock.unlock();
      source_->read(offset, part);
      lock.lock();
    } else {
      if (range->state == State::kWaits) {
        urgent_.push_back(range);
        room_.notify_one();
      }
      arrived_.wait(lock, [&] { return range->state == State::kThere || range->state == State::kGone; });
      if (range->state == State::kGone) continue;
      if (range->error) std::rethrow_exception(range->error);
      std::memcpy(part.data(), range->content.data() + (offset - range->offset), part.size());
      range->wanted -= static_cast<int64_t>(part.size());
      if (range->wanted <= 0) {
        range->state = State::kGone;
        range->content = {};
        held_ -= range->bytes;
        room_.notify_all();
      }
    }
    offset = end;
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace linac::storage
