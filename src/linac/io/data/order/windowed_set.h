#pragma once
// A set of files of which a few are open at a time: for sets that are larger than the disk, and for a training that
// begins when its first files are there. A file is opened when its window comes, one window ahead on threads of this
// set, several side by side (io/storage/read_width.h), and let go after it. `Set` is what a file is opened as,
// EventTable (windowed_table.h) or Dataset (windowed_showers.h). All member functions are thread-safe.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "linac/io/data/file_versions.h"
#include "linac/io/data/order/epoch_order.h"
#include "linac/io/storage/range_rooms.h"

namespace linac::data {

template <class Set>
class WindowedSet {
 public:
  using Batch = typename Set::Batch;

  /// What a kind of files is opened by. Both are called by several threads.
  struct Opening {
    std::function<std::shared_ptr<const Set>(const std::string& url)> open;  // may have no event
    /// The events that open() would give, without reading the file; nothing where only reading tells.
    std::function<std::optional<int64_t>(const std::string& url)> count;
  };

  /// `window`: files whose events are mixed, at least 1. `first`: one of the files, whose columns are those of all.
  WindowedSet(std::vector<FileVersion> files, int window, Opening opening, std::shared_ptr<const Set> first);
  ~WindowedSet();
  WindowedSet(const WindowedSet&) = delete;
  WindowedSet& operator=(const WindowedSet&) = delete;

  /// Counts the events of all files, many at a time. The name of the first file that does not tell, where one does not.
  /// Before the first read.
  std::optional<std::string> count_all();
  /// -1 without count_all().
  int64_t size() const { return size_; }

  const std::vector<FileVersion>& files() const { return files_; }
  /// -1 where it is not known yet.
  int64_t events_known(size_t file) const;
  const std::shared_ptr<const Set>& first() const { return first_; }
  /// Is called for each file with events that is opened from now on, by threads of this set and of its readers, until
  /// the set is gone; what it throws is thrown by read(). Before the first read.
  void check_each(std::function<void(const Set&)> check) { check_ = std::move(check); }

  /// `known`: of that epoch (WindowedOrder).
  std::shared_ptr<const WindowedOrder> order(uint64_t seed, uint32_t epoch, WindowPlace known = {}) const;
  /// The events are read from `place` of the order on, up to `end`: the window of the place and the next one are
  /// opened, others let go. Returns whether the order ends in this window; then `next`, the order of the epoch to come,
  /// is wanted as well.
  bool coming(const WindowedOrder& order, int64_t place, int64_t end) const;
  void coming_next(const WindowedOrder& next) const;
  /// As Set::read(). Data error when a file is another one than when the set was opened.
  void read(std::span<const EventOfFile> events, Batch& out) const;

 private:
  using Opened = std::shared_future<std::shared_ptr<const Set>>;
  Opened opened(uint32_t file) const;
  std::shared_ptr<const Set> awaited(uint32_t file) const;
  std::shared_ptr<const Set> open_file(uint32_t file) const;
  int64_t events_of(uint32_t file) const;
  bool is_wanted(uint32_t file) const;
  void open_ahead() const;
  void want(const std::vector<uint32_t>& files) const;
  void let_pages_go(int64_t events_read) const;

  const int window_;
  const std::vector<FileVersion> files_;
  const Opening opening_;
  const std::shared_ptr<const Set> first_;
  std::function<void(const Set&)> check_;
  int64_t size_ = -1;

  mutable std::mutex mutex_;
  mutable std::condition_variable wanted_;
  mutable std::vector<int64_t> events_;  // of each file; -1: not known yet
  mutable std::map<uint32_t, Opened> open_;
  mutable std::deque<std::vector<uint32_t>> recent_;  // windows whose files stay
  mutable std::deque<uint32_t> ahead_;
  mutable int64_t events_mapped_ = 0;  // read since the files' pages were let go
  mutable int opening_now_ = 0;        // by threads_
  mutable bool stop_ = false;
  const std::shared_ptr<storage::RangeRooms> rooms_ = storage::RangeRooms::shared();
  std::vector<std::thread> threads_;
};

}  // namespace linac::data
