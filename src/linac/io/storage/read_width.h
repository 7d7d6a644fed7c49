#pragma once
// How many files a process opens side by side, and how many ranges of each are on their way at a time. A job may fix
// both; else they follow from what comes while somebody waits: a doubling stays if more bytes a second come with it.
// Which bytes are read does not depend on it. Thread-safe but for WidthSearch.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace linac::storage {

struct Width {
  int files = 0, reads = 0;
  bool operator==(const Width&) const = default;
};

inline constexpr Width kWidthFirst{2, 4};
inline constexpr Width kWidthMax{8, 16};

/// The search alone: knows no clock and nobody who waits.
class WidthSearch {
 public:
  static constexpr int kRestFirst = 8;  // after a search that is over; twice as many after the next one
  /// What is fixed is never changed; within kWidthMax.
  explicit WidthSearch(std::optional<int> files = {}, std::optional<int> reads = {});

  const Width& now() const { return now_; }
  /// Bytes a second that came under now(); chooses the next now().
  void saw(double rate);

 private:
  enum class Tried { kNothing, kFiles, kReads };
  /// The next doubling that may help, or none for a while.
  void try_next();

  bool fixed_files_, fixed_reads_;
  Width now_, best_;
  double best_rate_ = 0;
  Tried tried_ = Tried::kNothing;
  int failed_ = 0;  // doublings one after the other that did not help
  int rest_ = 0;    // rates that are let pass before the next attempt
  int next_rest_ = kRestFirst;
};

/// Of this process, whose files share a link.
class ReadWidth {
 public:
  /// Begins anew with what a job fixes.
  void fix(std::optional<int> files, std::optional<int> reads);
  Width now() const;
  /// Bytes of a file have come, in one piece.
  void came(int64_t bytes);

  /// While one lives, somebody waits for what is read.
  class Wait {
   public:
    explicit Wait(ReadWidth& width);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    ReadWidth& width_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  void begin_span();

  mutable std::mutex mutex_;
  WidthSearch search_;
  int waiting_ = 0;                 // how many do
  Clock::time_point since_{};       // when the first of them began
  Clock::duration waited_{};        // in this span, before that
  int64_t bytes_ = 0, pieces_ = 0;  // of this span
};

ReadWidth& read_width();

}  // namespace linac::storage
