#include <arrow/io/interfaces.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <mutex>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/clouds/clouds.h"
#include "linac/io/clouds/file_systems.h"
#include "linac/io/storage/levels.h"
#include "linac/io/storage/sending.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"
#include "linac/io/storage/stores.h"
#include "linac/io/storage/streamed_copy.h"

namespace linac::clouds {
namespace {

namespace afs = arrow::fs;
using storage::Listed;
using storage::Reader;

constexpr int64_t kPieceBytes = int64_t{8} << 20;

/// "bucket/folder/key" of "gs://bucket/folder/key".
std::string path_of(const std::string& url) {
  const std::string path = url.substr(url.find("://") + 3);
  const size_t slash = path.find('/');
  if (slash == 0 || slash == std::string::npos || path.find("//") != std::string::npos ||
      path.find_first_of("\r\n") != std::string::npos)
    throw user_error(fmt::format("[{0}] {1}: no address of a file; write {0}://BUCKET/KEY",
                                 storage::scheme_of(url).value_or(""), url));
  return path;
}

class CloudStore : public storage::Store {
 public:
  explicit CloudStore(std::function<Cloud()> open) : open_(std::move(open)) {}

  std::vector<std::string> glob(const std::string& pattern) const override {
    const std::string path = path_of(pattern);
    const size_t slash = path.find('/');
    if (!storage::is_pattern(path.substr(slash))) return {pattern};
    std::vector<std::string> urls;
    const std::string bucket = path.substr(0, slash + 1);
    for (const std::string& key : storage::match_levels(
             path.substr(slash + 1), [&](const std::string& prefix) { return level(bucket, prefix, pattern); }))
      urls.push_back(url_of(bucket + key));
    // A file may be called as the pattern is.
    if (urls.empty() && info(path, pattern).IsFile()) return {pattern};
    if (urls.empty())
      throw data_error(
          fmt::format("[{}] {}: no file matches this pattern; check bucket and name", cloud().scheme, pattern));
    return urls;
  }

  std::vector<Listed> list(const std::string& folder) const override {
    std::string path = path_of(folder);
    while (path.ends_with('/')) path.pop_back();
    const afs::FileInfoVector found = listed(path, folder, false);
    // Google's store has no folders but by the names of files.
    if (found.empty() && path.find('/') != std::string::npos)
      throw data_error(fmt::format("[{}] {}: no file's name begins so; check the address", cloud().scheme, folder));
    std::vector<Listed> files;
    for (const afs::FileInfo& one : found)
      if (one.IsFile() && one.path().find('/', path.size() + 1) == std::string::npos)
        files.push_back({url_of(one.path()), one.size()});
    std::sort(files.begin(), files.end(), [](const Listed& a, const Listed& b) { return a.url < b.url; });
    return files;
  }

  int64_t size(const std::string& url) const override { return need_file(url).size(); }
  std::unique_ptr<Reader> open(const std::string& url) const override;
  std::filesystem::path local(const std::string& url) const override {
    return storage::streamed_local(cloud().scheme, cloud().endpoint + " " + url, url);
  }

  void write(const std::string& url, std::string_view content) const override {
    send(url, storage::pieces_of(content, kPieceBytes));
  }
  void put(const std::string& url, const std::filesystem::path& file) const override {
    send(url, storage::pieces_of_file(file, kPieceBytes));
  }
  void need_writable(const std::string& url) const override {
    const std::string bucket = path_of(url).substr(0, path_of(url).find('/'));
    if (info(bucket, url).type() == afs::FileType::NotFound)
      throw data_error(
          fmt::format("[{}] {}: there is no bucket '{}'; make it, or check the name", cloud().scheme, url, bucket));
  }
  void remove(const std::string& url) const override {
    const std::string path = path_of(url);
    if (info(path, url).IsFile()) need(cloud().files->DeleteFile(path), url);
  }

  const Cloud& cloud() const {
    const std::scoped_lock lock(mutex_);
    if (!cloud_) cloud_.emplace(open_());
    return *cloud_;
  }
  afs::FileInfo need_file(const std::string& url) const {
    const afs::FileInfo found = info(path_of(url), url);
    if (found.IsFile()) return found;
    throw data_error(fmt::format("[{}] {}: no such file there; check the address", cloud().scheme, url));
  }
  [[noreturn]] void fail(const arrow::Status& status, const std::string& what) const;
  void need(const arrow::Status& status, const std::string& what) const {
    if (!status.ok()) fail(status, what);
  }
  template <class T>
  T value_of(arrow::Result<T> result, const std::string& what) const {
    if (!result.ok()) fail(result.status(), what);
    return std::move(result).ValueUnsafe();
  }

 private:
  std::string url_of(const std::string& path) const { return cloud().scheme + "://" + path; }
  afs::FileInfo info(const std::string& path, const std::string& url) const {
    return value_of(cloud().files->GetFileInfo(path), url);
  }
  afs::FileInfoVector listed(const std::string& folder, const std::string& url, bool may_be_absent) const {
    afs::FileSelector selector;
    selector.base_dir = folder;
    selector.recursive = !cloud().knows_folders;
    selector.allow_not_found = may_be_absent;
    return value_of(cloud().files->GetFileInfo(selector), url);
  }
  storage::Level level(const std::string& bucket, const std::string& prefix, const std::string& pattern) const {
    const std::string folder = bucket + prefix.substr(0, prefix.rfind('/') + 1);
    storage::Level level;
    for (const afs::FileInfo& one : listed(folder.substr(0, folder.size() - 1), pattern, true)) {
      const std::string key = one.path().substr(bucket.size());
      if (!key.starts_with(prefix)) continue;
      const size_t slash = key.find('/', folder.size() - bucket.size());
      if (slash != std::string::npos && slash + 1 < key.size())
        level.folders.push_back(key.substr(0, slash + 1));
      else if (one.IsFile())
        level.files.push_back(key);
      else if (one.IsDirectory())
        level.folders.push_back(key + (key.ends_with('/') ? "" : "/"));
    }
    std::sort(level.folders.begin(), level.folders.end());
    level.folders.erase(std::unique(level.folders.begin(), level.folders.end()), level.folders.end());
    return level;
  }

  void send(const std::string& url, const storage::Pieces& next) const {
    const std::string path = path_of(url);
    // Azure shows a file that is being written.
    const std::string made = cloud().writes_at_close ? path : storage::name_in_the_making(path);
    const auto out = value_of(cloud().files->OpenOutputStream(made, nullptr), url);
    try {
      for (auto bytes = next(); !bytes.empty(); bytes = next()) {
        need(out->Write(bytes.data(), static_cast<int64_t>(bytes.size())), url);
        piece_is_done();
      }
      need(out->Close(), url);
      if (made != path) need(cloud().files->CopyFile(made, path), url);
    } catch (...) {
      if (!out->closed()) static_cast<void>(out->Abort());
      if (made != path) static_cast<void>(cloud().files->DeleteFile(made));
      throw;
    }
    if (made != path) need(cloud().files->DeleteFile(made), url);
  }

  const std::function<Cloud()> open_;
  mutable std::mutex mutex_;
  mutable std::optional<Cloud> cloud_;
};

void CloudStore::fail(const arrow::Status& status, const std::string& what) const {
  std::string text = status.message();
  for (const std::string& secret : cloud().secrets)
    for (size_t at = secret.empty() ? std::string::npos : text.find(secret); at != std::string::npos;
         at = text.find(secret))
      text.replace(at, secret.size(), "...");
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  constexpr size_t kShown = 400;
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  const auto says = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
  };
  const std::string message = fmt::format("[{}] {}: {}", cloud().scheme, what, text);
  if (says({"Could not resolve", "Couldn't connect", "Could not connect", "Failed to connect", "Couldn't resolve",
            "Connection refused", "Fail to get a new connection"}))
    throw storage::Unreachable(ErrorCode::kEnvironment, message + "; check the address and the network");
  if (says({"404", "NOT_FOUND", "does not exist", "No such file", "BlobNotFound", "ContainerNotFound"}))
    throw data_error(message + "; check the address");
  if (says({"401", "403", "PERMISSION_DENIED", "UNAUTHENTICATED", "AuthorizationFailure", "AuthenticationFailed"}))
    throw data_error(message + "; check the keys, and what they may do");
  throw environment_error(message + "; try again later");
}

/// A file as it is now.
struct Opened {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  int64_t size = 0;
  std::string version;
};

Opened opened(const CloudStore& store, const std::string& url) {
  Opened now;
  now.file = store.value_of(store.cloud().files->OpenInputFile(path_of(url)), url);
  now.size = store.value_of(now.file->GetSize(), url);
  const auto said = store.value_of(now.file->ReadMetadata(), url);
  std::string tag;
  for (int64_t i = 0; said && i < said->size(); ++i) {
    std::string name = said->key(i);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == "etag" && !said->value(i).empty()) tag = said->value(i);
  }
  if (tag.empty()) tag = std::to_string(store.need_file(url).mtime().time_since_epoch().count());
  now.version = fmt::format("{}:{}", now.size, tag);
  return now;
}

/// Neither file system binds a range to a version, so it is asked for after each.
class CloudReader : public Reader {
 public:
  CloudReader(const CloudStore& store, const std::string& url)
      : store_(store), url_(url), opened_(opened(store, url)) {}
  int64_t size() const override { return opened_.size; }
  std::string version() const override { return opened_.version; }
  void read(int64_t offset, std::span<std::byte> bytes) override {
    if (offset < 0 || offset + static_cast<int64_t>(bytes.size()) > opened_.size)
      throw data_error(
          fmt::format("[{}] {}: ends at byte {}, and more is asked for", store_.cloud().scheme, url_, opened_.size));
    if (bytes.empty()) return;
    while (!bytes.empty()) {
      const int64_t wanted = std::min(kPieceBytes, static_cast<int64_t>(bytes.size()));
      const auto got = opened_.file->ReadAt(offset, wanted, bytes.data());
      if (!got.ok() || *got <= 0) {
        need_same();
        store_.need(got.status(), fmt::format("{}, bytes {} to {}", url_, offset, offset + wanted - 1));
        throw environment_error(
            fmt::format("[{}] {}: the server sends less than was asked for, from byte {} on; try "
                        "again later",
                        store_.cloud().scheme, url_, offset));
      }
      piece_is_done();
      offset += *got;
      bytes = bytes.subspan(static_cast<size_t>(*got));
    }
    need_same();
  }

 private:
  void need_same() const {
    if (opened(store_, url_).version == opened_.version) return;
    throw storage::Changed(ErrorCode::kData,
                           fmt::format("[{}] {}: the file changed while it was read; run it again when nobody writes",
                                       store_.cloud().scheme, url_));
  }

  const CloudStore& store_;
  const std::string url_;
  const Opened opened_;
};

std::unique_ptr<Reader> CloudStore::open(const std::string& url) const {
  return std::make_unique<CloudReader>(*this, url);
}

}  // namespace

void provide() {
  static const CloudStore google(open_google), azure(open_azure);
  storage::provide_clouds(google, azure);
}

}  // namespace linac::clouds
