#pragma once
// What the reader of a format is opened with: a file of this host or of another one, read where it lies. Of another
// host's file only what is asked for crosses the link, all of it of one version; whoever needs a file of this host
// (HDF5's library) gets a copy from the cache. Thread-safe; a Source may be shared.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::storage {

/// Bytes one after the other. One thread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills `bytes` from its beginning, with one at least; returns how many, 0 at the end. Errors of the Source.
  virtual size_t read(std::span<std::byte> bytes) = 0;
};

/// Stands for a hash of the content of a file of another host.
std::string version_hash(int64_t size, const std::string& version);

class Source {
 public:
  /// One of expand()'s results. Its server is asked once, for size and version. Where it names no version or sends no
  /// parts, the file is fetched whole, into the cache. Errors as of the stores; Unreachable where nobody answers.
  static std::shared_ptr<const Source> open(const std::string& url);
  /// A file of this host, under the name by which a user knows it.
  static std::shared_ptr<const Source> of_file(const std::filesystem::path& path, const std::string& name);

  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// As the user named it, for messages.
  const std::string& url() const { return url_; }
  /// Whether that names a file of another host, which may have been fetched whole: then path() is a copy in the cache.
  bool is_remote() const { return is_remote_; }
  int64_t size() const { return size_; }
  /// Whether it is read from its server, range by range.
  bool is_ranged() const { return !path_; }
  /// Of what is_ranged(): as the server names it; never empty then.
  const std::string& version() const { return version_; }
  /// Of what is_ranged(): stands for a hash of the content, which is not read whole. Size and version.
  std::string version_hash() const;
  /// The file of this host that is read; nothing for what is_ranged().
  const std::optional<std::filesystem::path>& path() const { return path_; }
  /// Of path(), when it was opened; `content` is empty.
  const Fingerprint& state() const { return state_; }
  /// path(), or a copy of the whole file from the cache.
  std::filesystem::path local() const;

  /// The first bytes, kHeadBytes at most, asked for once: what tells a format.
  const std::string& head() const;
  static constexpr int64_t kHeadBytes = 64;
  /// Fills `bytes` from `offset` on; they lie within the file. Changed (a data error) when the server has another
  /// version now. What is_ranged() may come from another worker of the run (neighbours/range_share.h).
  void read(int64_t offset, std::span<std::byte> bytes) const;
  /// The same from the server itself.
  void read_at_store(int64_t offset, std::span<std::byte> bytes) const;
  /// All bytes in order, read ahead in bounded memory.
  static std::unique_ptr<ByteStream> stream(const std::shared_ptr<const Source>& source);
  /// The same of the bytes [begin, end), which lie within the file.
  static std::unique_ptr<ByteStream> stream(const std::shared_ptr<const Source>& source, int64_t begin, int64_t end);
  /// XXH3 of the content (storage.h), once a stream has come to its end; empty before.
  std::string streamed_content() const;
  /// How many bytes have been read so far.
  int64_t bytes_read() const { return bytes_read_; }
  /// Data error if path() is not what it was when it was opened. What is_ranged() is checked with each range.
  void need_unchanged() const;

 private:
  explicit Source(const std::string& url);
  class Loan;
  class Stream;

  const std::string url_;
  const bool is_remote_;
  int64_t size_ = 0;
  std::string version_;
  std::optional<std::filesystem::path> path_;
  Fingerprint state_;
  mutable std::atomic<int64_t> bytes_read_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Reader>> readers_;  // as many as threads have read side by side
  mutable std::vector<Reader*> idle_;
  mutable std::string streamed_content_;
  mutable std::once_flag head_once_;
  mutable std::string head_;
};

}  // namespace linac::storage
