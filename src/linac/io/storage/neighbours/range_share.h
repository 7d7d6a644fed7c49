#pragma once
// What one process has read of a store's file it passes on to the others of its run, so that each byte leaves the store
// about once. Each range of a file belongs to one of them, chosen by hashes of both (Thaler and Ravishankar, "Using
// name-based mappings to increase hit rates", 1998: whoever is lost leaves its ranges to all others evenly). It reads
// that range at the store when it is first wanted, by whomever, and keeps it: in memory, and on the disk what memory
// cannot hold. A checksum made as it came goes along with it.
//
// Nothing depends on the others: what one does not have, sends damaged or does not send in time is read at the store.
// So sharing changes where bytes come from and never which.
//
// Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "linac/io/storage/neighbours/file_range.h"
#include "linac/io/storage/neighbours/range_spill.h"

namespace linac::storage {

class Source;

/// How the others are asked. Thread-safe.
class RangeLinks {
 public:
  virtual ~RangeLinks() = default;
  /// Fills `bytes` with what the process of this name has of the range, and `checksum` with what it says of it; false:
  /// it does not give it, for whatever reason, in the time that there is.
  virtual bool ask(const std::string& name, const FileRange& range, std::span<std::byte> bytes, uint64_t& checksum) = 0;
};

class RangeShare {
 public:
  static constexpr int64_t kMemoryBytes = int64_t{128} << 20;
  /// Smaller ones come from the store: the way to another process and back takes as long.
  static constexpr int64_t kBytesLeast = int64_t{4} << 10;
  static constexpr int64_t kBytesMost = int64_t{16} << 20;  // nor are larger ones kept
  static constexpr bool is_shared(int64_t bytes) { return bytes >= kBytesLeast && bytes <= kBytesMost; }
  /// Whoever has failed is not asked again for so long.
  static constexpr std::chrono::seconds kRest{30};

  struct Settings {
    int64_t memory_bytes = kMemoryBytes;
    std::filesystem::path folder{};  // for what memory cannot hold
    int64_t disk_bytes = 0;          // of it, at most
  };
  explicit RangeShare(Settings settings);
  ~RangeShare();
  RangeShare(const RangeShare&) = delete;
  RangeShare& operator=(const RangeShare&) = delete;

  /// Who shares from now on; `names` are the same in all processes, and `self` is among them or keeps nothing for
  /// others. With less than two, or without links, everybody reads at the store.
  void set_neighbours(const std::string& self, std::vector<std::string> names, std::shared_ptr<RangeLinks> links);

  using FromStore = std::function<void(std::span<std::byte>)>;
  /// Fills `bytes`, from wherever they come; errors of `from_store` alone. A range that this process asks for once more
  /// before it is there comes from the store; a neighbour that has not answered by then rests.
  void read(const FileRange& range, std::span<std::byte> bytes, const FromStore& from_store);

  /// Of a range that this process keeps: shared by those who read it.
  struct Held {
    explicit Held(int64_t size)
        : bytes(size), room(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(size))) {}
    std::span<std::byte> content() const { return {room.get(), static_cast<size_t>(bytes)}; }

    const int64_t bytes;
    const std::unique_ptr<std::byte[]> room;
    uint64_t checksum = 0;
  };
  /// What a neighbour asks for. Null: there is none of that version, it is no file of a store, or it cannot be read.
  std::shared_ptr<const Held> give(const FileRange& range);

  /// What was kept goes: nobody will want it again.
  void clear();

  struct Counts {
    int64_t from_stores = 0, from_others = 0, to_others = 0;  // bytes
    int64_t damaged = 0, failed = 0;                          // answers of others
  };
  Counts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Neighbours {
    std::string self;
    std::vector<std::string> names;
    std::vector<uint64_t> hashes;  // of the names
    std::shared_ptr<RangeLinks> links;
  };
  class Asked;
  struct Entry {
    std::shared_ptr<Held> held{};  // null: on its way
    std::list<FileRange>::iterator used{};
  };

  std::string owner_of(const FileRange& range, const Neighbours& neighbours);
  std::shared_ptr<const Held> hold(const FileRange& range, const FromStore& from_store);
  bool take(const FileRange& range, std::span<std::byte> bytes, const FromStore& from_store);
  void forget(const FileRange& range, const std::shared_ptr<const Held>& held);
  std::shared_ptr<Held> bring(const FileRange& range, const FromStore& from_store);
  void let_go(std::unique_lock<std::mutex>& lock);
  bool ask(const std::string& owner, const FileRange& range, std::span<std::byte> bytes, const Neighbours& neighbours);
  bool is_asked(const FileRange& range) const;
  void rest(const std::string& name, Clock::time_point until);
  std::shared_ptr<const Source> source_of(const FileRange& range);
  void read_at_store(std::span<std::byte> bytes, const FromStore& from_store);

  const Settings settings_;
  RangeSpill spill_;

  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::shared_ptr<const Neighbours> neighbours_;
  std::map<std::string, Clock::time_point> resting_;
  std::set<FileRange> asked_;  // by this process, and not yet there
  std::map<FileRange, Entry> entries_;
  std::list<FileRange> used_;  // those that are there, the one used last first
  int64_t memory_ = 0;         // bytes of these
  std::list<std::pair<std::string, std::shared_ptr<const Source>>> sources_;  // opened for others, the newest first
  Counts counts_;
};

/// What this process's Sources read by from now on; null: each reads at the store.
void use_range_share(std::shared_ptr<RangeShare> share);
std::shared_ptr<RangeShare> range_share();
/// By it, where there is one and the range has a version; else `from_store` alone.
void read_shared(const FileRange& range, std::span<std::byte> bytes, const RangeShare::FromStore& from_store);

}  // namespace linac::storage
