#include "linac/io/data/file_versions.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::data {
namespace {

constexpr int kLooksAtOnce = 16;
constexpr int64_t kSampledBytes = 4 << 10;  // of each end: headers and footers

/// What tells the file from another one under its name.
std::string version_of(const storage::Source& source) {
  if (source.is_ranged()) return source.version_hash();
  const storage::Fingerprint& state = source.state();  // some mounts number a file anew at each look
  return fmt::format("{}:{}:{}", state.size, state.mtime_ns, state.ctime_ns);
}

std::string fingerprint_of(const storage::Source& source) {
  if (source.is_ranged()) return source.version_hash();
  storage::ContentHash hash;
  std::vector<std::byte> room(static_cast<size_t>(std::min(kSampledBytes, source.size())));
  for (const int64_t offset : {int64_t{0}, source.size() - static_cast<int64_t>(room.size())}) {
    source.read(offset, room);
    hash.add(room);
  }
  return storage::content_hash(fmt::format("{} bytes, ends {}", source.size(), hash.text()));
}

FileVersion look(const std::string& url) {
  const auto source = storage::Source::open(url);
  if (!source->is_ranged() && source->is_remote())
    throw user_error(
        fmt::format("[data] {}: its server names no version of the file, or sends no parts, so "
                    "data.shuffle_window cannot tell whether it is the same when its window comes: copy "
                    "the files first (linac data copy), or leave the setting out",
                    net::without_secrets(url)));
  return {url, source->size(), version_of(*source), fingerprint_of(*source)};
}

/// As look() would say it. A file that changes between the two counts as listed otherwise, and all are looked at.
bool is_as_listed(const storage::Listed& file) {
  return version_now(file.url) == storage::version_hash(file.size, file.version);
}

}  // namespace

std::vector<FileVersion> versions_of(const std::vector<std::string>& urls) {
  const std::vector<storage::Listed> listed = storage::find_all(urls);
  std::vector<FileVersion> files(listed.size());
  std::vector<size_t> unknown;
  // Some servers name another version in lists than for the object itself: one file answers for its bucket's.
  const auto first = std::find_if(listed.begin(), listed.end(), [](const auto& file) { return !file.version.empty(); });
  const bool lists_count = first != listed.end() && is_as_listed(*first);
  for (size_t i = 0; i < listed.size(); ++i) {
    if (!lists_count || listed[i].version.empty()) {
      files[i].url = listed[i].url;
      unknown.push_back(i);
      continue;
    }
    const std::string version = storage::version_hash(listed[i].size, listed[i].version);
    files[i] = {listed[i].url, listed[i].size, version, version};
  }
  if (unknown.empty()) return files;
  ThreadPool pool(std::min<int>(kLooksAtOnce, static_cast<int>(unknown.size())));
  pool.run(static_cast<int>(unknown.size()), [&](int i) {
    FileVersion& file = files[unknown[static_cast<size_t>(i)]];
    file = look(file.url);
  });
  return files;
}

std::string version_now(const std::string& url) {
  return version_of(*storage::Source::open(url));
}

}  // namespace linac::data
