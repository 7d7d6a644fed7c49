#pragma once
// Reads pieces of a file before they are asked for, on a few connections, in bounded memory. Small neighbours come in
// one request, large pieces in several side by side. Owns its threads.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace linac::storage {

class Source;

/// A part of a file that will be wanted.
struct Piece {
  int64_t offset = 0, bytes = 0;
};

inline constexpr int64_t kAheadRequestBytes = int64_t{4} << 20;  // of one request, at most
inline constexpr int64_t kAheadHeldBytes = int64_t{48} << 20;    // read and not yet asked for, about
inline constexpr int64_t kAheadHoleBytes = int64_t{8} << 10;     // read along between neighbours
inline constexpr int kAheadConnections = 4;

class ReadAhead {
 public:
  /// `pieces` lie within the file and do not overlap; they are read in this order.
  ReadAhead(std::shared_ptr<const Source> source, const std::vector<Piece>& pieces);
  /// Waits for the requests that are on their way.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Fills `bytes` from `offset` on; waits for them. Each byte of a piece is asked for once if it is read once,
  /// whatever the order of the pieces; what lies in none, or was read before, is asked for now. Thread-safe. Errors of
  /// the Source.
  void read(int64_t offset, std::span<std::byte> bytes);

 private:
  enum class State { kWaits, kOnItsWay, kThere, kGone };
  struct Range {
    int64_t offset = 0, bytes = 0;
    int64_t wanted = 0;  // bytes of pieces, not yet asked for
    State state = State::kWaits;
    std::vector<std::byte> content{};
    std::exception_ptr error{};
  };

  void add(const Piece& piece);
  void work();
  /// The next range to be read, or none for now.
  Range* next_range();
  /// The range that has the byte, if it can still give it; `end`: how far what is said reaches, at most.
  Range* range_at(int64_t offset, int64_t& end);

  const std::shared_ptr<const Source> source_;
  std::deque<Range> ranges_;  // in the order of their reading
  std::map<int64_t, size_t> by_offset_;

  std::mutex mutex_;
  std::condition_variable room_, arrived_;
  std::deque<Range*> urgent_;  // somebody waits
  size_t next_ = 0;
  int64_t held_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace linac::storage
