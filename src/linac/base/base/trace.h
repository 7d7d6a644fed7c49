#pragma once
// What the threads of this process do, as spans of time that are kept in memory while a trace is wanted
// (train/train/record/trace_file.h makes the file). While none is, a span costs the load of a flag. Thread-safe.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace linac::trace {

using Clock = std::chrono::steady_clock;

struct Event {
  std::string_view name;  // of what lives as long as the process
  int64_t begin_ns = 0, end_ns = 0;
};

/// A thread: spans as they ended, so that what is within another one comes before it.
struct Track {
  std::string name;
  std::vector<Event> events;
};

struct Recorded {
  std::vector<Track> tracks;
  int64_t left_out = 0;  // spans for which there was no room
};

/// Of a process, some megabytes.
inline constexpr int64_t kEventsMax = 200'000;

inline std::atomic<bool> recording{false};

/// From here on spans are kept that begin.
void begin();
/// What has ended by now; nothing is kept any more.
Recorded end();
int64_t now_ns();

/// How the calling thread is called. One that says nothing is "thread".
void name_thread(std::string name);

/// Of the calling thread, which may have others of its own within.
void add(std::string_view name, int64_t begin_ns, int64_t end_ns);

/// While it lives. `name` must outlive it; "replica", 3 is called "replica 3", "forward", -1, "generator" is called
/// "forward generator".
class Span {
 public:
  explicit Span(std::string_view name, int64_t number = -1, std::string_view detail = {})
      : name_(name),
        detail_(detail),
        number_(number),
        begin_ns_(recording.load(std::memory_order_relaxed) ? now_ns() : -1) {}
  ~Span() {
    if (begin_ns_ >= 0) close();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void close() noexcept;

  const std::string_view name_, detail_;
  const int64_t number_, begin_ns_;
};

}  // namespace linac::trace
