#pragma once
// A set of event files of which a few are open at a time: for sets that are larger than the disk, and for a training
// that begins when its first files are there. Each file must say how many events it has without being read (Parquet,
// ROOT, HDF5 of this host). A file is opened (event_table.h) when its window comes, one window ahead on a thread, and
// let go after it. All member functions are thread-safe.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "linac/data/epoch_order.h"
#include "linac/data/event_table.h"

namespace linac::data {

class WindowedTable {
 public:
  using Batch = TableBatch;

  /// Looks at every file, and opens the first one. `window`: files whose events are mixed, at least 1. Errors as of
  /// EventTable::open(); user error for a file that does not say its events, and for classes that only all files would
  /// name.
  static std::shared_ptr<WindowedTable> open(const std::vector<std::string>& urls,
                                             const std::vector<ColumnRequest>& columns, int window);
  ~WindowedTable();
  WindowedTable(const WindowedTable&) = delete;
  WindowedTable& operator=(const WindowedTable&) = delete;

  int64_t size() const { return ends_.back(); }  // events
  /// Those that have events.
  const std::vector<TableFile>& files() const { return files_; }
  /// The first file: what the columns are.
  const std::shared_ptr<const EventTable>& first() const { return first_; }
  /// Is called for each file that is opened from now on, by threads of this set and of its readers, until the set is
  /// gone; what it throws is thrown by read(). Before the first read.
  void check_each(std::function<void(const EventTable&)> check) { check_ = std::move(check); }

  std::shared_ptr<const WindowedOrder> order(uint64_t seed, uint32_t epoch) const;
  /// The events are read from `place` of the order on: its window and the next one are opened, others let go. Returns
  /// whether it was the last window; then `next`, the order of the epoch to come, is wanted as well.
  bool coming(const WindowedOrder& order, int64_t place) const;
  void coming_next(const WindowedOrder& next) const;
  /// As EventTable::read(). Data error when a file is another one than when the set was opened.
  void read(std::span<const int64_t> events, TableBatch& out) const;

 private:
  using Opened = std::shared_future<std::shared_ptr<const EventTable>>;
  WindowedTable() = default;
  Opened opened(uint32_t file) const;
  std::shared_ptr<const EventTable> open_file(uint32_t file) const;
  void open_ahead() const;
  void want(const std::vector<uint32_t>& files) const;

  int window_ = 1;
  std::vector<ColumnRequest> columns_;
  std::vector<TableFile> files_;
  std::vector<std::string> versions_;  // of each file, when the set was opened
  std::vector<int64_t> ends_;          // the first event after each file
  std::shared_ptr<const EventTable> first_;
  std::function<void(const EventTable&)> check_;

  mutable std::mutex mutex_;
  mutable std::condition_variable wanted_;
  mutable std::map<uint32_t, Opened> open_;
  mutable std::deque<std::vector<uint32_t>> recent_;  // windows whose files stay
  mutable std::deque<uint32_t> ahead_;
  mutable bool stop_ = false;
  std::thread thread_;
};

}  // namespace linac::data
