#include "linac/io/storage/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/io/storage/read_width.h"
#include "linac/io/storage/source.h"

namespace linac::storage {
namespace {

// Files that are read ahead side by side share the memory; each has two requests at least.
constexpr int64_t kHeldBytesLeast = 2 * kAheadRequestBytes;
std::atomic<int> files_ahead = 0;

int64_t held_bytes_of_one() {
  return std::max(kHeldBytesLeast, kAheadHeldBytes / std::max(1, files_ahead.load()));
}

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<const Source> source, std::vector<Piece> pieces)
    : source_(std::move(source)), pieces_(std::move(pieces)) {
  for (const Piece& piece : pieces_)
    LINAC_CHECK(piece.offset >= 0 && piece.bytes >= 0 && piece.bytes <= source_->size() - piece.offset);
  while (std::cmp_less(waiting_.size(), kWidthMax.reads) && plan()) continue;
  const size_t threads = waiting_.size();
  ++files_ahead;
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  --files_ahead;
}

bool ReadAhead::plan() {
  const auto range = std::make_shared<Range>();
  for (; piece_ < pieces_.size(); ++piece_, done_ = 0) {
    const int64_t offset = pieces_[piece_].offset + done_;
    const int64_t left = pieces_[piece_].bytes - done_;
    if (left == 0) continue;
    if (range->bytes == 0) range->offset = offset;
    const int64_t hole = offset - (range->offset + range->bytes);
    const int64_t room = kAheadRequestBytes - (offset - range->offset);
    // A small piece comes with its neighbours whole; a large one begins a request.
    if (range->bytes > 0 && (hole < 0 || hole > kAheadHoleBytes || room < left)) break;
    const int64_t bytes = std::min(left, room);
    range->bytes = offset + bytes - range->offset;
    range->wanted += bytes;
    done_ += bytes;
    if (bytes < left) break;
  }
  if (range->bytes == 0) return false;
  ranges_[range->offset] = range;
  waiting_.push_back(range);
  return true;
}

ReadAhead::RangePtr ReadAhead::next_range() {
  RangePtr range;
  if (!urgent_.empty()) {
    range = std::move(urgent_.front());
    urgent_.pop_front();
    return range;
  }
  while (!waiting_.empty() && waiting_.front()->state != State::kWaits) waiting_.pop_front();
  if (held_ >= held_bytes_of_one() || on_their_way_ >= read_width().now().reads || (waiting_.empty() && !plan()))
    return nullptr;
  range = std::move(waiting_.front());
  waiting_.pop_front();
  return range;
}

void ReadAhead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    RangePtr range;
    room_.wait(lock, [&] { return stop_ || (range = next_range()) != nullptr; });
    if (stop_) return;
    if (range->state != State::kWaits) continue;  // urgent, and taken meanwhile
    range->state = State::kOnItsWay;
    range->begun = Clock::now();
    held_ += range->bytes;
    ++on_their_way_;
    fetch(range, lock);
    --on_their_way_;
    room_.notify_one();  // as many may read as did, or more by now
  }
}

void ReadAhead::fetch(const RangePtr& range, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const Clock::time_point begun = Clock::now();
  RangeRoom content;
  std::exception_ptr error;
  try {
    content = rooms_->take(range->bytes);
    source_->read(range->offset, {content.bytes.get(), static_cast<size_t>(range->bytes)});
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (!error)
    times_.push_back(std::chrono::duration<double>(Clock::now() - begun).count() / static_cast<double>(range->bytes));
  if (range->state == State::kThere) return;
  if (error && range->asked_twice && ++range->failed < 2) return;  // the other request is on its way
  range->content = std::move(content);
  range->error = error;
  range->state = State::kThere;
  arrived_.notify_all();
}

std::optional<ReadAhead::Clock::time_point> ReadAhead::late_from(const Range& range) const {
  if (range.asked_twice || times_.size() < kAheadTimesMin || asked_twice_ * kAheadTwiceShare > times_.size())
    return std::nullopt;
  std::vector<double> times = times_;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  const std::chrono::duration<double> late(kAheadLateFactor * *middle * static_cast<double>(range.bytes));
  return range.begun + std::max<Clock::duration>(kAheadLateMin, std::chrono::duration_cast<Clock::duration>(late));
}

void ReadAhead::wait_for(const RangePtr& range, std::unique_lock<std::mutex>& lock) {
  const auto is_there = [&] { return range->state == State::kThere; };
  while (!is_there()) {
    const auto late = range->state == State::kOnItsWay ? late_from(*range) : std::nullopt;
    if (!late) {
      // Others may show meanwhile what is usual.
      arrived_.wait_for(lock, kAheadLateMin, is_there);
    } else if (!arrived_.wait_until(lock, *late, is_there) && !range->asked_twice) {
      range->asked_twice = true;
      ++asked_twice_;
      fetch(range, lock);
    }
  }
}

ReadAhead::RangePtr ReadAhead::planned_at(int64_t offset, int64_t& end) const {
  const auto after = ranges_.upper_bound(offset);
  if (after != ranges_.end()) end = std::min(end, after->first);
  if (after == ranges_.begin()) return nullptr;
  const RangePtr& range = std::prev(after)->second;
  if (offset >= range->offset + range->bytes) return nullptr;
  end = std::min(end, range->offset + range->bytes);
  return range;
}

ReadAhead::RangePtr ReadAhead::range_at(int64_t offset, int64_t& end) {
  const int64_t wanted = end;
  RangePtr range = planned_at(offset, end);
  while (!range && waiting_.size() < kAheadPlannedMax && plan()) range = planned_at(offset, end = wanted);
  return range;
}

void ReadAhead::take(const RangePtr& range, int64_t offset, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), range->content.bytes.get() + (offset - range->offset), bytes.size());
  range->wanted -= static_cast<int64_t>(bytes.size());
  const auto known = ranges_.find(range->offset);
  if (range->wanted > 0 || known == ranges_.end() || known->second != range) return;
  ranges_.erase(known);
  held_ -= range->bytes;
  rooms_->give(std::move(range->content));
  room_.notify_all();
}

void ReadAhead::read(int64_t offset, std::span<std::byte> bytes) {
  std::unique_lock lock(mutex_);
  while (!bytes.empty()) {
    int64_t end = offset + static_cast<int64_t>(bytes.size());
    const RangePtr range = range_at(offset, end);
    const auto part = bytes.first(static_cast<size_t>(end - offset));
    if (!range) {
      lock.unlock();
      source_->read(offset, part);
      lock.lock();
    } else {
      if (range->state == State::kWaits) {
        urgent_.push_back(range);
        room_.notify_one();
      }
      wait_for(range, lock);
      if (range->error) std::rethrow_exception(range->error);
      take(range, offset, part);
    }
    offset = end;
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace linac::storage
