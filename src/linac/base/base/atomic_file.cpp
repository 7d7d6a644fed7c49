#include "linac/base/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/write_fence.h"

namespace linac {
namespace {

constexpr size_t kPieceBytes = size_t{32} << 20;

// A rename by root would put a file in the place of /dev/null.
const std::filesystem::path& need_replaceable(const std::filesystem::path& target) {
  std::error_code none;
  if (std::filesystem::is_character_file(target, none) || std::filesystem::is_block_file(target, none))
    throw user_error(fmt::format("[file] {}: a device; give the name of a file", target.string()));
  return target;
}

// Large content goes to the disk past the system's cache of files, where the file system lets it: copying it there
// takes more of a processor than all else of the writing, and drives out what others read again, as the data of a
// training.
class Staged {
 public:
  explicit Staged(int descriptor)
      : descriptor_(descriptor), memory_(::operator new(kBytes, kAlignment), &release), direct_(set_direct(true)) {}

  /// Calls `write(bytes)` with whole buffers; `end()` writes the rest.
  template <class Write>
  void add(std::span<const std::byte> bytes, const Write& write) {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kBytes - filled_));
      std::memcpy(begin() + filled_, piece.data(), piece.size());
      filled_ += piece.size();
      bytes = bytes.subspan(piece.size());
      if (filled_ == kBytes) hand_on(write);
    }
  }
  template <class Write>
  void end(const Write& write) {
    give_up_direct();  // the end of a file is no whole block
    hand_on(write);
  }
  /// After a write that failed: whether it is to be done again, through the cache.
  bool refused() { return errno == EINVAL && give_up_direct(); }

 private:
  static constexpr size_t kBytes = 1 << 20;
  static constexpr std::align_val_t kAlignment{4096};  // of memory and places in the file
  static void release(void* memory) { ::operator delete(memory, kAlignment); }

  std::byte* begin() { return static_cast<std::byte*>(memory_.get()); }
  bool set_direct(bool direct) const {
    const int flags = ::fcntl(descriptor_, F_GETFL);
    return flags >= 0 && ::fcntl(descriptor_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
  }
  bool give_up_direct() { return std::exchange(direct_, false) && set_direct(false); }
  template <class Write>
  void hand_on(const Write& write) {
    write(std::span<const std::byte>(begin(), std::exchange(filled_, 0)));
  }

  const int descriptor_;
  const std::unique_ptr<void, void (*)(void*)> memory_;
  size_t filled_ = 0;
  bool direct_;
};

// Owns a file descriptor and the temporary file it writes.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target)
      : fence_(need_replaceable(target)),
        path_(fence_.temporary().string()),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail("cannot be created");
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!moved_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Once it is there, see write_fence.h.
  void check() const { fence_.check(); }

  // A large file goes to the disk piece by piece: nobody who waits for it sees a single long silence at its end.
  void write(std::span<const std::byte> bytes, const std::function<void()>& synced, Staged* staged = nullptr) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPieceBytes));
      if (written < 0 && (errno == EINTR || (staged != nullptr && staged->refused()))) continue;
      if (written < 0) fail("cannot be written");
      bytes = bytes.subspan(static_cast<size_t>(written));
      unsynced_ += static_cast<size_t>(written);
      if (unsynced_ < kPieceBytes) continue;
      if (::fsync(descriptor_) != 0) fail("cannot be synced to disk");
      unsynced_ = 0;
      synced();
    }
  }

  void write_all(const std::function<void(const TakePiece&)>& tell, const std::function<void()>& synced) {
    Staged staged(descriptor_);
    const auto write = [&](std::span<const std::byte> bytes) { this->write(bytes, synced, &staged); };
    tell([&](std::span<const std::byte> piece) { staged.add(piece, write); });
    staged.end(write);
  }

  // The first bytes of another file, for which the system may need no room.
  void copy(const std::filesystem::path& from, uint64_t bytes) {
    const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source) fail("cannot be filled from " + from.string());
    for (uint64_t done = 0; done < bytes;) {
      const size_t wanted = std::min<uint64_t>(bytes - done, kPieceBytes);
      ssize_t copied = ::copy_file_range(source.get(), nullptr, descriptor_, nullptr, wanted, 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0) copied = copy_piece(source.get(), wanted);  // not on this file system
      if (copied == 0) break;
      done += static_cast<uint64_t>(copied);
      piece_is_done();
    }
  }

  void move_to(const std::filesystem::path& target) {
    if (::fsync(descriptor_) != 0) fail("cannot be synced to disk");
    if (::rename(path_.c_str(), target.c_str()) != 0) fail("cannot be renamed to " + target.string());
    moved_ = true;
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle >= 0) {
      ::fsync(handle);
      ::close(handle);
    }
  }

 private:
  ssize_t copy_piece(int source, size_t wanted) {
    std::vector<std::byte> piece(std::min<size_t>(wanted, 1 << 20));
    ssize_t count = 0;
    do count = ::read(source, piece.data(), piece.size());
    while (count < 0 && errno == EINTR);
    if (count < 0) fail("cannot be filled from the file before");
    write(std::span(piece).first(static_cast<size_t>(count)), piece_is_done);
    return count;
  }

  [[noreturn]] void fail(const std::string& what) const {
    const int why = errno;
    fence_.check();  // whoever has the next turn has removed it
    throw environment_error(
        fmt::format("[file] {}: {} ({}); check space and permissions", path_, what, std::strerror(why)));
  }

  const FencedWrite fence_;
  std::string path_;
  int descriptor_;
  size_t unsynced_ = 0;
  bool moved_ = false;
};

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  TemporaryFile file(path);
  file.check();
  file.write(bytes, piece_is_done);
  file.move_to(path);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void write_file_atomically(const std::filesystem::path& path, const std::function<void(const TakePiece&)>& tell,
                           const std::function<void()>& synced) {
  TemporaryFile file(path);
  file.check();
  file.write_all(tell, synced);
  file.move_to(path);
}

void write_end_of_file_atomically(const std::filesystem::path& path, uint64_t kept, std::string_view tail) {
  TemporaryFile file(path);
  file.check();
  if (kept > 0) file.copy(path, kept);
  file.write(std::as_bytes(std::span(tail)), piece_is_done);
  file.move_to(path);
}

bool put_in_place(const std::filesystem::path& part, const std::filesystem::path& path) {
  const int descriptor = ::open(part.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  return synced && ::rename(part.c_str(), path.c_str()) == 0;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw environment_error(fmt::format("[file] {}: cannot be opened ({})", path.string(), std::strerror(errno)));
  std::ostringstream content;
  content << stream.rdbuf();
  if (stream.bad()) throw environment_error(fmt::format("[file] {}: cannot be read", path.string()));
  return std::move(content).str();
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw environment_error(fmt::format("[file] {}: folder cannot be made ({})", path.string(), error.message()));
}

}  // namespace linac
