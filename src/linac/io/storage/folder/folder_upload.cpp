#include "linac/io/storage/folder/folder_upload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kQuickBytesMax = int64_t{16} << 20;  // of a file that changes, sent between two snapshots
constexpr double kLeavingStays_s = 60;                 // a reader may be in the midst of it
constexpr int64_t kPieceBytes = 8 << 20;
constexpr int kTriesMax = 3;

double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string draw_session() {
  std::random_device random;
  return fmt::format("{:08x}", random());
}

/// Of the object, read whole.
std::pair<int64_t, std::string> read_back(const std::string& url) {
  const auto reader = store_of(url).open(url);
  ContentHash hash;
  std::vector<std::byte> room(static_cast<size_t>(std::min(kPieceBytes, reader->size())));
  for (int64_t offset = 0; offset < reader->size(); offset += kPieceBytes) {
    const auto piece = std::span(room).first(static_cast<size_t>(std::min(kPieceBytes, reader->size() - offset)));
    reader->read(offset, piece);
    hash.add(piece);
  }
  return {reader->size(), hash.text()};
}

/// Of the first `bytes` of an open file; empty if it has fewer.
std::string hash_of(int file, int64_t bytes) {
  ContentHash hash;
  std::vector<std::byte> room(static_cast<size_t>(std::min(kPieceBytes, bytes)));
  for (int64_t offset = 0; offset < bytes;) {
    const auto wanted = static_cast<size_t>(std::min(kPieceBytes, bytes - offset));
    const ssize_t got = ::pread(file, room.data(), wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    hash.add(std::span(room).first(static_cast<size_t>(got)));
    offset += got;
  }
  return hash.text();
}

}  // namespace

FolderUpload::FolderUpload(std::string url, fs::path folder, FolderRules rules, std::string copy,
                           std::optional<ReadManifest> known, std::function<void()> may_write)
    : url_(std::move(url)),
      folder_(std::move(folder)),
      rules_(std::move(rules)),
      may_write_(std::move(may_write)),
      session_(draw_session()) {
  if (known) {
    manifest_ = std::move(known->manifest);
    version_ = std::move(known->version);
  }
  manifest_.copy = std::move(copy);
}

// Links are not followed: what they lead to was not meant to leave this host.
FolderUpload::State FolderUpload::state_of(const fs::path& path) {
  return state_of(Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW)));
}

FolderUpload::State FolderUpload::state_of(const Descriptor& file) {
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return {status.st_dev, status.st_ino, status.st_size,
          int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::vector<FolderUpload::Found> FolderUpload::look_at_snapshots() const {
  std::vector<Found> all;
  std::error_code none;
  for (fs::directory_iterator entry(folder_ / rules_.snapshots, none), end; !none && entry != end;
       entry.increment(none)) {
    std::string name = rules_.snapshots + "/" + entry->path().filename().string();
    if (!rules_.is_snapshot(name) || !rules_.wanted(name) || !is_inner_name(name)) continue;
    const State state = state_of(entry->path());
    if (state.size >= 0) all.push_back({std::move(name), state, true});
  }
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.name > b.name; });
  return all;
}

// Snapshots first, and none that comes meanwhile: other files are then no older than what any snapshot says of them.
std::vector<FolderUpload::Found> FolderUpload::look() const {
  std::vector<Found> all = look_at_snapshots(), others;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().lexically_relative(folder_).generic_string();
    if (rules_.is_snapshot(name) || !rules_.wanted(name) || !is_inner_name(name)) continue;
    const State state = state_of(entry->path());
    if (state.size >= 0) others.push_back({std::move(name), state});
  }
  if (error) {
    throw environment_error(
        fmt::format("[folder] {}: cannot be listed ({}); check the disk", folder_.string(), error.message()));
  }
  std::sort(others.begin(), others.end(), [](const Found& a, const Found& b) { return a.name < b.name; });
  std::move(others.begin(), others.end(), std::back_inserter(all));
  return all;
}

bool FolderUpload::is_known(const Found& found) const {
  const auto before = known_.find(found.name);
  return before != known_.end() && before->second == found.state;
}

bool FolderUpload::has_new_snapshot() const {
  const std::vector<Found> all = look_at_snapshots();
  return std::any_of(all.begin(), all.end(), [&](const Found& one) { return !is_known(one); });
}

void FolderUpload::send(Pass pass) {
  for (int i = 0; i < kTriesMax; ++i)
    if (send_once(pass)) return;
  throw Temporary(
      ErrorCode::kEnvironment,
      fmt::format("[folder] {}: somebody else writes the manifest again and again; keep others away from it",
                  net::without_secrets(url_)));
}

/// False if somebody else has written a manifest: what is there is known now.
bool FolderUpload::send_once(Pass pass) {
  if (!std::exchange(swept_, true)) remove_remains();
  std::vector<Found> all = look();
  // It is there until it is sent, however soon others take its place.
  if (!all.empty() && all.front().snapshot)
    all.front().file =
        Descriptor(::open((folder_ / all.front().name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const bool news = !all.empty() && all.front().snapshot && !is_known(all.front());
  if (pass == Pass::kQuick && news) pass = Pass::kAll;

  to_send_ = std::count_if(all.begin(), all.end(), [&](const Found& one) { return !is_known(one); });
  sent_now_ = 0;
  Manifest next{manifest_.sequence + 1, manifest_.copy, pass == Pass::kLast, {}, {}};
  for (Found& found : all)
    if (auto file = send_file(found, pass)) next.files.push_back(std::move(*file));
  std::sort(next.files.begin(), next.files.end(),
            [](const ManifestFile& a, const ManifestFile& b) { return a.name < b.name; });
  // The first one of this folder tells others that it is the latest copy.
  if (version_.empty() || next.files != manifest_.files || next.ended != manifest_.ended || !announced_) {
    if (!write(std::move(next))) return false;
  }
  remove_leaving(pass);
  return true;
}

/// Nothing if the file has gone, or has not been sent yet and can wait.
std::optional<ManifestFile> FolderUpload::send_file(Found& found, Pass pass) {
  const ManifestFile* const before = manifest_.find(found.name);
  const bool well_named = pass != Pass::kLast || (before != nullptr && before->object == found.name);
  if (before != nullptr && well_named && is_known(found)) return *before;
  if (pass == Pass::kQuick && !found.snapshot && found.state.size > kQuickBytesMax) {
    return before == nullptr ? std::nullopt : std::optional(*before);
  }
  const fs::path path = folder_ / found.name;
  if (!found.file) found.file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!found.file) {
    if (errno == ENOENT) return std::nullopt;
    throw environment_error(
        fmt::format("[folder] {}: cannot be read ({}); check its permissions", path.string(), std::strerror(errno)));
  }
  found.state = state_of(found.file);  // another one may have taken its place since it was found
  if (found.state.size < 0) return std::nullopt;
  // What is there from a former process, and has not changed.
  if (before != nullptr && well_named && before->size == found.state.size && !known_.contains(found.name) &&
      hash_of(found.file.get(), before->size) == before->hash) {
    known_[found.name] = found.state;
    ++sent_now_;
    return *before;
  }
  ManifestFile file = upload(found, pass);
  known_[found.name] = found.state;
  ++sent_now_;
  return file;
}

// An object that the manifest names is never written over.
std::string FolderUpload::object_for(const Found& found, Pass pass) {
  const bool named = std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                 [&](const ManifestFile& one) { return one.object == found.name; });
  if ((found.snapshot || pass == Pass::kLast) && !named) return found.name;
  return fmt::format("{}/{}-{:06}-{}", kVersionsFolder, session_, ++objects_, fs::path(found.name).filename().string());
}

// A file that grows meanwhile is sent as long as it is then.
ManifestFile FolderUpload::upload(const Found& found, Pass pass) {
  const fs::path opened = fmt::format("/proc/self/fd/{}", found.file.get());
  for (int i = 0; i < kTriesMax; ++i) {
    ManifestFile file{found.name, object_for(found, pass), 0, {}};
    const std::string url = inner_url(url_, file.object);
    store_of(url).put(url, opened);
    std::tie(file.size, file.hash) = read_back(url);
    if (hash_of(found.file.get(), file.size) == file.hash && file.size >= found.state.size) return file;
  }
  throw data_error(fmt::format("[folder] {}: reads back other than it was sent; look at the server",
                               net::without_secrets(inner_url(url_, found.name))));
}

bool FolderUpload::write(Manifest next) {
  may_write_();
  std::set<std::string> named, gone;
  for (const ManifestFile& file : next.files) named.insert(file.object);
  for (const ManifestFile& file : manifest_.files) gone.insert(file.object);
  for (const std::string& object : manifest_.leaving) gone.insert(object);
  for (const std::string& object : named) {
    gone.erase(object);
    leaving_since_.erase(object);
  }
  next.leaving.assign(gone.begin(), gone.end());
  const std::string url = inner_url(url_, kManifestName), content = to_text(next);
  auto version = store_of(url).replace(url, content, version_);
  if (!version) {
    auto there = store_of(url).read_small(url);
    if (!there || there->content != content) {
      may_write_();
      // The last words of who was taken over, or it was removed by hand.
      std::string copy = std::move(manifest_.copy);
      manifest_ = there ? parse_manifest(there->content, url) : Manifest{};
      manifest_.copy = std::move(copy);
      version_ = there ? std::move(there->version) : "";
      known_.clear();
      return false;
    }
    version = there->version;  // the answer was lost
  }
  version_ = *version;
  manifest_ = std::move(next);
  announced_ = true;
  std::erase_if(known_, [&](const auto& one) { return manifest_.find(one.first) == nullptr; });
  for (const std::string& object : manifest_.leaving) leaving_since_.try_emplace(object, steady_s());
  return true;
}

/// What no manifest names: of a process that was killed before it had written one.
void FolderUpload::remove_remains() {
  std::set<std::string> named(manifest_.leaving.begin(), manifest_.leaving.end());
  for (const ManifestFile& file : manifest_.files) named.insert(file.object);
  for (const std::string& folder : {std::string(kVersionsFolder), rules_.snapshots}) {
    std::vector<Listed> listed;
    const std::string url = inner_url(url_, folder);
    try {
      listed = store_of(url).list(url);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;  // there is no such folder
    }
    for (const Listed& one : listed) {
      const std::string name = folder + "/" + one.url.substr(one.url.rfind('/') + 1);
      const bool ours = folder == kVersionsFolder || rules_.is_snapshot(name);
      if (ours && !named.contains(name)) store_of(one.url).remove(one.url);
    }
  }
  for (const std::string& object : manifest_.leaving) leaving_since_.try_emplace(object, steady_s());
}

void FolderUpload::remove_leaving(Pass pass) {
  const double now = steady_s();
  for (auto one = leaving_since_.begin(); one != leaving_since_.end();) {
    if (pass != Pass::kLast && now - one->second < kLeavingStays_s) {
      ++one;
      continue;
    }
    const std::string url = inner_url(url_, one->first);
    store_of(url).remove(url);
    std::erase(manifest_.leaving, one->first);  // the next manifest no longer names it
    one = leaving_since_.erase(one);
  }
}

}  // namespace linac::storage
