#include "linac/io/storage/folder/folder_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <set>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/file_lock.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr int kFilesAtATime = 4;
constexpr int64_t kPieceBytes = 8 << 20;
constexpr int kAnewMax = 5;    // so often the manifest may be replaced meanwhile
constexpr int kLevelsMax = 3;  // so deep a file lies in a folder
constexpr const char* kFolder = "folders";

void write_all(int file, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw environment_error(fmt::format("[folder] {}: cannot be written; is the disk full?", path.string()));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

bool is_there(const ManifestFile& file, const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(fs::symlink_status(path, none)) &&
         static_cast<int64_t>(fs::file_size(path, none)) == file.size && fingerprint(path).content == file.hash;
}

/// Data error if the object is missing or another one.
void fetch_file(const std::string& url, const ManifestFile& file, const fs::path& path) {
  const std::string object = inner_url(url, file.object);
  const auto damaged = [&](const char* why) {
    return data_error(fmt::format("[folder] {}: is not what the manifest says ({}); it is damaged",
                                  net::without_secrets(object), why));
  };
  const auto reader = store_of(object).open(object);
  if (reader->size() != file.size) throw damaged("another size");
  make_folder(path.parent_path());
  const fs::path part = path.string() + ".part";
  const Descriptor out(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!out) throw environment_error(fmt::format("[folder] {}: cannot be made; check its permissions", part.string()));
  ContentHash hash;
  std::vector<std::byte> room(static_cast<size_t>(std::min(kPieceBytes, file.size)));
  for (int64_t offset = 0; offset < file.size; offset += kPieceBytes) {
    const auto piece = std::span(room).first(static_cast<size_t>(std::min(kPieceBytes, file.size - offset)));
    reader->read(offset, piece);
    hash.add(piece);
    write_all(out.get(), piece, part);
  }
  if (hash.text() != file.hash) {
    ::unlink(part.c_str());
    throw damaged("another checksum");
  }
  if (!put_in_place(part, path))
    throw environment_error(fmt::format("[folder] {}: cannot be written; is the disk full?", path.string()));
}

/// What the manifest does not name.
void remove_others(const Manifest& manifest, const fs::path& folder) {
  std::set<std::string> named;
  for (const ManifestFile& file : manifest.files) named.insert(file.name);
  std::vector<fs::path> others;
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none)) {
    if (!entry->is_directory(none) && !named.contains(entry->path().lexically_relative(folder).generic_string()))
      others.push_back(entry->path());
  }
  for (const fs::path& path : others) fs::remove(path, none);
}

struct Failed {
  ManifestFile file;
  Error error;
};

/// Those that are missing or damaged. Other errors are thrown.
std::vector<Failed> fetch_all(const std::string& url, const Manifest& manifest, const fs::path& into) {
  std::vector<Failed> failed;
  std::mutex mutex;
  ThreadPool(kFilesAtATime).run(static_cast<int>(manifest.files.size()), [&](int i) {
    const ManifestFile& file = manifest.files[static_cast<size_t>(i)];
    try {
      if (const fs::path path = into / file.name; !is_there(file, path)) fetch_file(url, file, path);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      const std::scoped_lock lock(mutex);
      failed.push_back({file, error});
    }
  });
  return failed;
}

/// `wanted`: the file that alone is wanted; empty: all.
ReadManifest fetch(const std::string& url, ReadManifest read, const std::string& wanted, const fs::path& into,
                   const std::function<bool(std::string_view name)>& is_snapshot) {
  make_folder(into);
  for (int anew = 0;; ++anew) {
    if (!wanted.empty()) std::erase_if(read.manifest.files, [&](const auto& one) { return one.name != wanted; });
    const std::vector<Failed> failed = fetch_all(url, read.manifest, into);
    if (failed.empty()) return read;
    // Whoever works there has put others in their place, or they are damaged.
    auto now = read_manifest(url);
    if (now && now->version != read.version && anew < kAnewMax) {
      read = std::move(*now);
      continue;
    }
    const auto snapshots = std::count_if(read.manifest.files.begin(), read.manifest.files.end(),
                                         [&](const ManifestFile& one) { return is_snapshot(one.name); });
    const bool others_stay = static_cast<int64_t>(failed.size()) < snapshots;
    for (const Failed& one : failed) {
      if (!is_snapshot(one.file.name) || !others_stay) throw Error(one.error);
      log::warn(fmt::format("{}; the one before is taken", one.error.what()));
      std::error_code none;
      fs::remove(into / one.file.name, none);
    }
    return read;
  }
}

/// What the manifest at `place` names: all, or the file `inner` alone. Nothing if there is none.
std::optional<fs::path> cached(const std::string& place, const std::string& inner) {
  if (!store_of(place).has_conditions()) return std::nullopt;
  auto read = read_manifest(place);
  if (!read || (!inner.empty() && read->manifest.find(inner) == nullptr)) return std::nullopt;
  const fs::path root = cache_folder();
  const fs::path folder =
      root / kFolder / fmt::format("{}-{}", content_hash(place).substr(0, 16), place.substr(place.rfind('/') + 1));
  make_folder(folder.parent_path());
  const FileLock turn(folder.string() + ".lock");
  for (const ManifestFile& file : read->manifest.files) use_cached(folder / file.name, root);
  const auto none = [](std::string_view) { return false; };
  read = fetch(place, std::move(*read), inner, folder, none);
  if (inner.empty()) remove_others(read->manifest, folder);
  return inner.empty() ? folder : folder / inner;
}

}  // namespace

ReadManifest fetch_folder(const std::string& url, ReadManifest read, const fs::path& into,
                          const std::function<bool(std::string_view name)>& is_snapshot) {
  read = fetch(url, std::move(read), "", into, is_snapshot);
  remove_others(read.manifest, into);
  return read;
}

ReadManifest fetch_files(const std::string& url, ReadManifest read, const fs::path& into) {
  return fetch(url, std::move(read), "", into, [](std::string_view) { return false; });
}

std::optional<fs::path> cached_folder(const std::string& url) {
  std::string place = url;
  while (place.ends_with('/')) place.pop_back();
  return cached(place, "");
}

std::optional<fs::path> cached_file(const std::string& url) {
  const size_t top = url.find("://") + 3;
  std::string place = url, inner;
  for (int level = 0; level < kLevelsMax; ++level) {
    const size_t slash = place.rfind('/');
    if (slash <= top || place.find('/', top) == slash) return std::nullopt;  // a bucket
    inner = place.substr(slash + 1) + (inner.empty() ? "" : "/" + inner);
    place.resize(slash);
    if (auto file = cached(place, inner)) return file;
  }
  return std::nullopt;
}

}  // namespace linac::storage
