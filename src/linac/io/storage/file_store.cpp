#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/glob.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/storage/file_lock.h"
#include "linac/io/storage/percent.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/stores.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSiblingsLookedAtMax = 10'000;
constexpr int64_t kPieceBytes = 1 << 20;

std::string path_of(const std::string& url) {
  if (!scheme_of(url)) return url;
  std::string rest = url.substr(std::strlen("file://"));
  if (rest.starts_with("localhost/")) rest = rest.substr(std::strlen("localhost"));
  if (!rest.starts_with('/')) {
    throw user_error(fmt::format("[storage] {}: a file URL needs an absolute path; write file:///folder/file", url));
  }
  return percent_decoded(rest);
}

std::string suggestion(const fs::path& missing) {
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fmt::format("there is no folder {} either", folder.string());
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (names.size() == kSiblingsLookedAtMax) break;
    names.push_back(entry->path().filename().string());
  }
  const auto near = nearest(missing.filename().string(), names);
  if (!near) return "check the path";
  return fmt::format("did you mean {}?", (missing.has_parent_path() ? folder / *near : fs::path(*near)).string());
}

fs::path existing_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw data_error(fmt::format("[storage] {}: no such file; {}", path.string(), suggestion(path)));
  }
  if (status.type() == fs::file_type::directory) {
    throw data_error(
        fmt::format("[storage] {}: a folder, not a file; name its files, as in {}/*.h5", path.string(), path.string()));
  }
  if (::access(path.c_str(), R_OK) != 0) {
    throw environment_error(
        fmt::format("[storage] {}: cannot be read ({}); check its permissions", path.string(), std::strerror(errno)));
  }
  if (status.type() != fs::file_type::regular) {
    throw data_error(fmt::format("[storage] {}: not a regular file; copy its content to one", path.string()));
  }
  return path;
}

class FileReader : public Reader {
 public:
  explicit FileReader(const fs::path& path)
      : path_(path),
        file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        size_(static_cast<int64_t>(fs::file_size(path))) {
    if (file_.get() < 0) fail();
  }
  FileReader(const FileReader& other)
      : path_(other.path_), file_(::fcntl(other.file_.get(), F_DUPFD_CLOEXEC, 0)), size_(other.size_) {
    if (file_.get() < 0) fail();
  }
  int64_t size() const override { return size_; }
  std::unique_ptr<Reader> another() const override { return std::make_unique<FileReader>(*this); }
  void read(int64_t offset, std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t got = ::pread(file_.get(), bytes.data(), bytes.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0)
        throw data_error(fmt::format("[storage] {}: ends at byte {}; it was cut meanwhile", path_.string(), offset));
      offset += got;
      bytes = bytes.subspan(static_cast<size_t>(got));
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw environment_error(fmt::format("[storage] {}: cannot be read ({}); check that it is still there and readable",
                                        path_.string(), std::strerror(errno)));
  }

  fs::path path_;
  Descriptor file_;
  int64_t size_;
};

class FileStore : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override {
    const std::string path = path_of(pattern);
    std::error_code error;
    const bool is_pattern = path.find_first_of("*?[") != std::string::npos || path.starts_with('~');
    if (!is_pattern || fs::exists(path, error)) return {path};
    std::vector<std::string> files = glob_paths(path);
    if (files.empty()) {
      throw data_error(fmt::format("[storage] {}: no file matches this pattern (looked from {}); check folder and name",
                                   pattern, fs::current_path(error).string()));
    }
    return files;
  }

  std::vector<Listed> list(const std::string& folder) const override {
    const fs::path path = path_of(folder);
    std::error_code error;
    std::vector<Listed> files;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code gone;  // a file may go while its folder is read
      if (!entry->is_regular_file(gone)) continue;
      const auto size = static_cast<int64_t>(entry->file_size(gone));
      if (!gone) files.push_back({entry->path().string(), size});
    }
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
      throw data_error(fmt::format("[storage] {}: no such folder; check the path", path.string()));
    }
    if (error) {
      throw environment_error(
          fmt::format("[storage] {}: cannot be listed ({}); check its permissions", path.string(), error.message()));
    }
    std::sort(files.begin(), files.end(), [](const Listed& a, const Listed& b) { return a.url < b.url; });
    return files;
  }

  int64_t size(const std::string& url) const override {
    return static_cast<int64_t>(fs::file_size(existing_file(path_of(url))));
  }
  std::unique_ptr<Reader> open(const std::string& url) const override {
    return std::make_unique<FileReader>(existing_file(path_of(url)));
  }
  fs::path local(const std::string& url) const override { return existing_file(path_of(url)); }

  void write(const std::string& url, std::string_view content) const override {
    const fs::path path = path_of(url);
    if (path.has_parent_path()) make_folder(path.parent_path());
    write_file_atomically(path, content);
  }

  void put(const std::string& url, const fs::path& file) const override {
    existing_file(file);
    const fs::path path = path_of(url);
    if (path.has_parent_path()) make_folder(path.parent_path());
    write_file_atomically(
        path,
        [&](const TakePiece& take) {
          FileReader content(file);
          std::vector<std::byte> room(std::min<int64_t>(content.size(), kPieceBytes));
          for (int64_t offset = 0; offset < content.size(); offset += static_cast<int64_t>(room.size())) {
            const auto piece =
                std::span(room).first(std::min(room.size(), static_cast<size_t>(content.size() - offset)));
            content.read(offset, piece);
            take(piece);
          }
        },
        piece_is_done);
  }
  void need_writable(const std::string&) const override {}

  void remove(const std::string& url) const override {
    const fs::path path = path_of(url);
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
    throw environment_error(fmt::format("[storage] {}: cannot be removed ({}); check its permissions", path.string(),
                                        std::strerror(errno)));
  }

  bool has_conditions() const override { return true; }

  std::optional<SmallFile> read_small(const std::string& url) const override {
    const fs::path path = path_of(url);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
    existing_file(path);
    if (static_cast<size_t>(status.st_size) > kSmallFileBytesMax)
      throw data_error(fmt::format("[storage] {}: larger than such a file can be; look what it is", path.string()));
    SmallFile file{read_file(path), {}, std::max(0.0, std::difftime(std::time(nullptr), status.st_mtime))};
    // Each write puts another file in the place, also one of the same content.
    file.version = fmt::format("{} {} {}.{}", content_hash(file.content), status.st_ino, status.st_mtim.tv_sec,
                               status.st_mtim.tv_nsec);
    return file;
  }

  std::optional<std::string> replace(const std::string& url, std::string_view content,
                                     const std::string& version) const override {
    const fs::path path = path_of(url);
    if (path.has_parent_path()) make_folder(path.parent_path());
    const FileLock turn(path.parent_path() / fmt::format(".{}.lock", path.filename().string()));
    const auto there = read_small(url);
    if ((there ? there->version : "") != version) return std::nullopt;
    write_file_atomically(path, content);
    return read_small(url).value().version;
  }
};

}  // namespace

const Store& file_store() {
  static const FileStore store;
  return store;
}

}  // namespace linac::storage
