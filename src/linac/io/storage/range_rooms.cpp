#include "linac/io/storage/range_rooms.h"

#include <algorithm>
#include <utility>

#include "linac/io/storage/read_ahead.h"

namespace linac::storage {

std::shared_ptr<RangeRooms> RangeRooms::shared() {
  static std::mutex mutex;
  static std::weak_ptr<RangeRooms> kept;
  const std::scoped_lock lock(mutex);
  auto rooms = kept.lock();
  if (!rooms) kept = rooms = std::make_shared<RangeRooms>();
  return rooms;
}

RangeRoom RangeRooms::take(int64_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    const auto fits = [&](const RangeRoom& room) { return room.size >= bytes; };
    // The one that came last is the likeliest to be in the processor's caches.
    const auto found = std::find_if(rooms_.rbegin(), rooms_.rend(), fits);
    if (found != rooms_.rend()) {
      RangeRoom room = std::move(*found);
      rooms_.erase(std::next(found).base());
      bytes_ -= room.size;
      return room;
    }
  }
  return {std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes)), bytes};
}

void RangeRooms::give(RangeRoom room) {
  const std::scoped_lock lock(mutex_);
  if (room.size < kAheadRequestBytes / 4 || bytes_ > kAheadHeldBytes - room.size) return;
  bytes_ += room.size;
  rooms_.push_back(std::move(room));
}

}  // namespace linac::storage
