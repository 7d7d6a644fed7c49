#pragma once
// Reads pieces of a file before they are asked for, on a few connections (read_width.h), in bounded memory. Small
// neighbours come in one request, large pieces in several side by side. A request that takes much longer than others
// did is made a second time, and the first answer counts. Owns its threads.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "linac/io/storage/range_rooms.h"

namespace linac::storage {

class Source;

/// A part of a file that will be wanted.
struct Piece {
  int64_t offset = 0, bytes = 0;
};

inline constexpr int64_t kAheadRequestBytes = int64_t{4} << 20;  // of one request, at most
inline constexpr int64_t kAheadHeldBytes = int64_t{48} << 20;    // read and not yet asked for, about, of all files
inline constexpr int64_t kAheadHoleBytes = int64_t{8} << 10;     // read along between neighbours
inline constexpr int kAheadConnections = 4;
// A request is late after so many times the median of those before, and no sooner than that.
inline constexpr double kAheadLateFactor = 4;
inline constexpr std::chrono::milliseconds kAheadLateMin{1500};
inline constexpr size_t kAheadTimesMin = 4;     // requests that tell what is usual
inline constexpr size_t kAheadTwiceShare = 20;  // of so many requests one may be made twice
inline constexpr size_t kAheadPlannedMax = 64;  // requests that are looked through for what is read out of order

class ReadAhead {
 public:
  /// `pieces` lie within the file and do not overlap; they are read in this order.
  ReadAhead(std::shared_ptr<const Source> source, std::vector<Piece> pieces);
  /// Waits for the requests that are on their way.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Fills `bytes` from `offset` on; waits for them. Each byte of a piece is asked for once if it is read once, about
  /// in the order of the pieces; what lies in none, far ahead, or was read before, is asked for now. Thread-safe.
  /// Errors of the Source.
  void read(int64_t offset, std::span<std::byte> bytes);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kWaits, kOnItsWay, kThere };
  struct Range {
    int64_t offset = 0, bytes = 0;
    int64_t wanted = 0;  // bytes of pieces, not yet asked for
    State state = State::kWaits;
    Clock::time_point begun{};
    bool asked_twice = false;
    int failed = 0;  // requests, of one that is asked for twice
    RangeRoom content{};
    std::exception_ptr error{};
  };
  using RangePtr = std::shared_ptr<Range>;

  void work();
  /// The next range of the pieces joins those that wait; false at their end.
  bool plan();
  /// The next range to be read, or none for now.
  RangePtr next_range();
  /// Reads the range, and keeps what came if nobody was faster.
  void fetch(const RangePtr& range, std::unique_lock<std::mutex>& lock);
  /// Waits until the range is there; asks for it once more where that is late.
  void wait_for(const RangePtr& range, std::unique_lock<std::mutex>& lock);
  /// When a request that began then is late; nothing while too little is known.
  std::optional<Clock::time_point> late_from(const Range& range) const;
  /// The range that has the byte; none if it is to be read now. `end`: how far what is said reaches, at most.
  RangePtr range_at(int64_t offset, int64_t& end);
  RangePtr planned_at(int64_t offset, int64_t& end) const;
  void take(const RangePtr& range, int64_t offset, std::span<std::byte> bytes);

  const std::shared_ptr<const Source> source_;
  const std::vector<Piece> pieces_;
  const std::shared_ptr<RangeRooms> rooms_ = RangeRooms::shared();

  std::mutex mutex_;
  std::condition_variable room_, arrived_;
  size_t piece_ = 0;                    // of which ranges are made next
  int64_t done_ = 0;                    // bytes of it that have ranges
  std::map<int64_t, RangePtr> ranges_;  // by offset: those that wait, are on their way or there
  std::deque<RangePtr> waiting_;        // in the order of their reading
  std::deque<RangePtr> urgent_;         // somebody waits
  int64_t held_ = 0;
  int on_their_way_ = 0;
  std::vector<double> times_;  // of requests, seconds a byte
  size_t asked_twice_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace linac::storage
