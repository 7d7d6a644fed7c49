#include <fmt/format.h>

#include <tuple>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cached_copy.h"
#include "linac/io/storage/rucio/checksums.h"
#include "linac/io/storage/rucio/replicas.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/stores.h"
#include "linac/io/storage/streamed_copy.h"

namespace linac::storage {
namespace {

using rucio::Checksums;
using rucio::File;
using rucio::ReplicatedFile;

/// The replicas of a file, of which one is read until it fails. Not thread-safe.
class Replicas {
 public:
  explicit Replicas(ReplicatedFile of) : of_(std::move(of)) {}
  const ReplicatedFile& of() const { return of_; }

  /// What `read` does with the address of a replica that it can be done with; the next one's turn where it throws.
  template <class Read>
  auto with_one(const Read& read) {
    std::string failed;
    bool unreachable = true;
    for (size_t tries = 0; tries < of_.replicas.size(); ++tries) {
      const rucio::Replica& replica = of_.replicas[at_];
      try {
        return read(replica.url);
      } catch (const Error& error) {
        unreachable &= dynamic_cast<const Unreachable*>(&error) != nullptr;
        failed += fmt::format("\n  {}: {}", replica.rse, error.what());
        at_ = (at_ + 1) % of_.replicas.size();
        if (tries + 1 < of_.replicas.size())
          log::warn(fmt::format("[rucio] {}: the replica of {} fails ({}); the next one is of {}", of_.file.did.url(),
                                replica.rse, error.what(), of_.replicas[at_].rse));
      }
    }
    const std::string what = fmt::format(
        "[rucio] {}: none of its replicas can be read:{}\nchoose others with ?rse=, "
        "or try again later",
        of_.file.did.url(), failed);
    if (unreachable) throw Unreachable(ErrorCode::kEnvironment, what);
    throw environment_error(what);
  }

 private:
  const ReplicatedFile of_;
  size_t at_ = 0;
};

void need_size(const File& file, int64_t size, const std::string& url) {
  if (size == file.bytes) return;
  throw data_error(fmt::format("{} has {} bytes, and Rucio knows {}", net::without_secrets(url), size, file.bytes));
}

class ReplicaReader : public Reader {
 public:
  explicit ReplicaReader(ReplicatedFile of) : replicas_(std::move(of)) {
    replicas_.with_one([this](const std::string& url) { open(url); });
  }

  int64_t size() const override { return file().bytes; }
  std::string version() const override { return file().version(); }
  std::unique_ptr<Reader> another() const override { return std::make_unique<ReplicaReader>(replicas_.of()); }
  void read(int64_t offset, std::span<std::byte> bytes) override {
    replicas_.with_one([&](const std::string& url) {
      if (!reader_ || url != url_) open(url);
      try {
        reader_->read(offset, bytes);
      } catch (...) {
        reader_.reset();
        throw;
      }
    });
  }

 private:
  const File& file() const { return replicas_.of().file; }
  void open(const std::string& url) {
    reader_ = store_of(url).open(url);
    url_ = url;
    need_size(file(), reader_->size(), url);
  }

  Replicas replicas_;
  std::unique_ptr<Reader> reader_;
  std::string url_;
};

/// Data error naming `url` for another content than Rucio knows.
void compare(Checksums& found, const File& file, const std::string& url) {
  for (const auto& [name, known, is] :
       {std::tuple("adler32", file.adler32, found.adler32()), std::tuple("md5", file.md5, found.md5())}) {
    if (known.empty() || known == is) continue;
    throw data_error(fmt::format("{} has another content than Rucio knows ({} {} in place of {})",
                                 net::without_secrets(url), name, is, known));
  }
}

PieceSums fetch_replica(const std::string& url, const File& file, const CachedCopy& copy) {
  const auto source = Source::open(url);
  need_size(file, source->size(), url);
  Checksums checksums;
  PieceSums sums = stream_into(copy, source, [&](std::span<const std::byte> bytes) { checksums.add(bytes); });
  compare(checksums, file, url);
  return sums;
}

ReplicatedFile look(const std::string& url) {
  rucio::Session session(rucio::find_access());
  return rucio::replicas_of(session, rucio::parse_did(url));
}

class RucioStore : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override {
    std::vector<std::string> urls;
    for (const Listed& file : list(pattern)) urls.push_back(file.url);
    return urls;
  }
  std::vector<Listed> list(const std::string& folder) const override {
    rucio::Session session(rucio::find_access());
    std::vector<Listed> listed;
    for (const File& file : rucio::files_of(session, rucio::parse_did(folder)))
      listed.push_back({file.did.url(), file.bytes});
    return listed;
  }
  int64_t size(const std::string& url) const override { return look(url).file.bytes; }
  std::unique_ptr<Reader> open(const std::string& url) const override {
    return std::make_unique<ReplicaReader>(look(url));
  }
  std::filesystem::path local(const std::string& url) const override {
    const rucio::Did did = rucio::parse_did(url);
    rucio::Session session(rucio::find_access());
    // Another storage element has the same bytes.
    const std::string name = rucio::Did{did.scope, did.name}.url();
    CachedCopy copy(cache_folder(), "rucio", session.access().host + " " + name, name);
    try {
      Replicas replicas(rucio::replicas_of(session, did));
      const File& file = replicas.of().file;
      const Validators said{.etag = file.version(), .modified = "", .size = file.bytes};
      if (copy.known() && same_content(*copy.known(), said)) return copy.file();
      copy.put_in_place(
          said, replicas.with_one([&](const std::string& replica) { return fetch_replica(replica, file, copy); }));
    } catch (const Unreachable& error) {
      if (!copy.known()) throw;
      log::warn(fmt::format("[rucio] {}: the server cannot be reached; the cached copy is used", url));
    }
    return copy.file();
  }
  void write(const std::string& url, std::string_view) const override { refuse_change(url); }
  void put(const std::string& url, const std::filesystem::path&) const override { refuse_change(url); }
  void need_writable(const std::string& url) const override { refuse_change(url); }
  void remove(const std::string& url) const override { refuse_change(url); }

 private:
  [[noreturn]] static void refuse_change(const std::string& url) {
    throw user_error(
        fmt::format("[rucio] {}: what Rucio has is only read; write to a path or a store, and `rucio upload` it", url));
  }
};

}  // namespace

const Store& rucio_store() {
  static const RucioStore store;
  return store;
}

}  // namespace linac::storage
