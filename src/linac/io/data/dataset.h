#pragma once
// A set of shower files as one list of training samples, in the order of the files. Immutable after open(); every
// member function is thread-safe. No image stays in memory, so a set may be larger than it.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/range.h"
#include "linac/io/data/cache/scan.h"
#include "linac/io/data/showers.h"

namespace linac::data {

class OpenFiles;

class Dataset {
 public:
  using Batch = SampleBatch;

  /// Opens every file that the paths, globs and URLs name, and checks every record (a scan that is remembered in the
  /// cache folder by the file's path, size and time of change). Data error naming file and event for whatever cannot be
  /// trained on: see scan.h; and when the files have different shapes or no event is kept. User error for settings that
  /// cannot be.
  static std::shared_ptr<const Dataset> open(const std::vector<std::string>& urls, const Fields& fields,
                                             const Preprocessing& preprocessing);
  /// One file of a larger set, of which it may have no event.
  static std::shared_ptr<const Dataset> open_one(const std::string& url, const Fields& fields,
                                                 const Preprocessing& preprocessing);
  /// The cache may let copies go that were made for this set.
  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  int64_t size() const { return static_cast<int64_t>(events_.size()); }  // kept events
  EventShape shape() const { return files_.front().shape; }
  const std::vector<FileReport>& files() const { return files_; }
  Range energies_gev() const;  // over all files
  Range angles() const;        // rad
  const Preprocessing& preprocessing() const { return preprocessing_; }

  /// Samples events[0], events[1], ... (each in [0, size())) into out, in that order; an event may come twice. Data
  /// error when a file has changed since open().
  void read(std::span<const int64_t> events, SampleBatch& out) const;
  /// A batch of so many events that others fill.
  void prepare(int64_t events, SampleBatch& out) const { out.resize(events, shape(), numbers_); }
  /// As read(), into the slots of such a batch.
  void read_into(std::span<const int64_t> events, std::span<const size_t> slots, SampleBatch& out) const;
  /// Nothing, as EventTable's: showers are not read from mapped memory.
  void let_pages_go() const {}
  /// One event as its file stores it.
  void read_stored(int64_t event, ShowerBlock& out) const;

 private:
  struct EventPlace {
    uint32_t file;
    int64_t record;
  };
  const EventPlace& place_of(int64_t event) const;
  enum class Empty { kRefused, kFine };
  Dataset() = default;
  static std::shared_ptr<const Dataset> opened(std::vector<std::string> files, const Fields& fields,
                                               const Preprocessing& preprocessing, Empty empty);

  Preprocessing preprocessing_;
  size_t numbers_ = 0;  // of an event
  std::vector<FileReport> files_;
  std::vector<EventPlace> events_;
  std::vector<std::filesystem::path> copies_;  // in the cache
  std::shared_ptr<const OpenFiles> open_files_;
};

}  // namespace linac::data
