#include "linac/base/base/trace.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace linac::trace {
namespace {

struct Thread {
  std::mutex mutex;
  std::string name = "thread";
  std::vector<Event> events;
};

// Threads come and go; what they did stays until the end of the trace.
struct All {
  std::mutex mutex;
  std::vector<std::shared_ptr<Thread>> threads;
  std::unordered_set<std::string> names;
  std::atomic<int64_t> events = 0;
};

// Never destroyed: threads may outlive what is static.
All& all() {
  static All& all = *new All;
  return all;
}

Thread& this_thread() {
  thread_local const std::shared_ptr<Thread> mine = [] {
    auto made = std::make_shared<Thread>();
    const std::lock_guard lock(all().mutex);
    std::erase_if(all().threads, [](const auto& thread) { return thread.use_count() == 1 && thread->events.empty(); });
    all().threads.push_back(made);
    return made;
  }();
  return *mine;
}

std::string_view kept(std::string name) {
  const std::lock_guard lock(all().mutex);
  return *all().names.insert(std::move(name)).first;
}

}  // namespace

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

void begin() {
  recording = true;
}

Recorded end() {
  recording = false;
  Recorded result;
  const std::lock_guard lock(all().mutex);
  for (const auto& thread : all().threads) {
    const std::lock_guard its(thread->mutex);
    if (!thread->events.empty()) result.tracks.push_back({thread->name, std::move(thread->events)});
    thread->events.clear();
  }
  result.left_out = std::max<int64_t>(0, all().events.exchange(0) - kEventsMax);
  return result;
}

void name_thread(std::string name) {
  Thread& thread = this_thread();
  const std::lock_guard lock(thread.mutex);
  thread.name = std::move(name);
}

void add(std::string_view name, int64_t begin_ns, int64_t end_ns) {
  if (!recording || all().events.fetch_add(1, std::memory_order_relaxed) >= kEventsMax) return;
  const std::string_view lasting = kept(std::string(name));
  Thread& thread = this_thread();
  const std::lock_guard lock(thread.mutex);
  thread.events.push_back({lasting, begin_ns, end_ns});
}

void Span::close() noexcept {
  const int64_t end_ns = now_ns();
  try {
    std::string name(name_);
    if (number_ >= 0) name.append(" ").append(std::to_string(number_));
    if (!detail_.empty()) name.append(name.empty() ? "" : " ").append(detail_);
    add(name, begin_ns_, end_ns);
  } catch (...) {  // no memory: the trace lacks a span
  }
}

}  // namespace linac::trace
