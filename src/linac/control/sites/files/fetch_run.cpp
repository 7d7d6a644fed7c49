#include "linac/control/sites/files/fetch_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/sole_lock.h"
#include "linac/control/sites/files/sha256.h"

namespace linac::sites {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 4;  // of looking at files that change meanwhile

// The folder of what is on its way; this process alone has it.
class Parts {
 public:
  explicit Parts(fs::path root) : root_(std::move(root)), lock_(folder_below(root_, "")) {
    if (!lock_alone(lock_.get()))
      throw user_error(fmt::format("[launch] {}: another process fetches into it; wait for it, or name another folder",
                                   root_.string()));
    folder_ = folder_below(root_, kPartsFolder);
  }
  // What is left there is for the next call.
  ~Parts() { ::unlinkat(lock_.get(), kPartsFolder, AT_REMOVEDIR); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // For reading and for writing at its end.
  Descriptor open(const std::string& name) const {
    Descriptor file(
        ::openat(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    struct stat about {};
    if (file && ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode)) return file;
    throw environment_error(fmt::format("[launch] {}: cannot be written ({}); check folder, permissions and space",
                                        path(name).string(), std::strerror(errno)));
  }
  // Of one that is there from a former call.
  int64_t bytes(const std::string& name) const {
    struct stat about {};
    return ::fstatat(folder_.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 ? about.st_size : 0;
  }
  void remove(const std::string& name) const { ::unlinkat(folder_.get(), name.c_str(), 0); }
  void remove_all() const { remove_below(root_, kPartsFolder); }
  fs::path path(const std::string& name) const { return root_ / kPartsFolder / name; }

 private:
  fs::path root_;
  Descriptor lock_, folder_;
};

int64_t size_of(int file) {
  struct stat about {};
  return ::fstat(file, &about) == 0 ? about.st_size : 0;
}

bool is_there(const fs::path& root, const RunFile& file, const std::string& sum) {
  try {
    const Descriptor here = open_below(root, file.place);
    return size_of(here.get()) == file.bytes && sha256_of(here.get()) == sum;
  } catch (const Refusal&) {
    return false;
  }
}

// What is missing of a file.
struct Wanted {
  RunFile file;
  std::string sum, part;
  int64_t from = 0;  // so much is here already
};

// Takes the bytes of all, one file behind the other; each that is whole goes to `finish`.
class Receiver {
 public:
  Receiver(const Parts& parts, std::vector<Wanted>& all, std::function<void(const Wanted&, int part)> finish)
      : parts_(parts), all_(all), finish_(std::move(finish)) {
    pass();
  }

  void take(std::string_view bytes) {
    while (!bytes.empty() && !is_done()) {
      Wanted& one = all_[at_];
      const auto some = static_cast<size_t>(std::min<int64_t>(one.file.bytes - one.from, int64_t(bytes.size())));
      const ssize_t put = ::pwrite(part_.get(), bytes.data(), some, one.from);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0)
        throw environment_error(
            fmt::format("[launch] {}: cannot be written ({}); the same command goes on when there is space",
                        one.file.name, std::strerror(errno)));
      one.from += put;
      sent_ += put;
      bytes.remove_prefix(static_cast<size_t>(put));
      pass();
    }
  }
  bool is_done() const { return at_ == all_.size(); }
  int64_t sent() const { return sent_; }

 private:
  void pass() {
    for (; !is_done(); ++at_) {
      const Wanted& one = all_[at_];
      if (!part_) part_ = parts_.open(one.part);
      if (one.from < one.file.bytes) return;
      finish_(one, part_.get());
      part_.reset();
    }
  }

  const Parts& parts_;
  std::vector<Wanted>& all_;
  const std::function<void(const Wanted&, int part)> finish_;
  Descriptor part_;  // of the one that comes
  size_t at_ = 0;
  int64_t sent_ = 0;
};

// Each is as long as was asked for: zeros stand for what is not there, and its checksum tells.
std::string send_script(const RunFolder& folder, const std::vector<Wanted>& all) {
  std::string script =
      enter_run_script(folder, "exit 4") +
      "part() {\n"
      "  { if [ -f \"./$1\" ] && [ ! -L \"./$1\" ]; then tail -c \"+$2\" \"./$1\" | head -c \"$3\"; fi\n"
      "    cat /dev/zero; } 2>/dev/null | head -c \"$3\"\n"
      "}\n";
  for (const Wanted& one : all)
    if (one.from < one.file.bytes)
      script += fmt::format("part {} {} {}\n", shell_word(one.file.name), one.from + 1, one.file.bytes - one.from);
  return script;
}

// The files with the lengths that they have now; those that are gone go to `gone`.
std::vector<RunFile> looked_at_again(const RunFolder& folder, const std::vector<RunFile>& files,
                                     std::vector<std::string>& gone) {
  std::map<std::string, int64_t> now;
  for (const RunFile& file : list_run(folder).files) now[file.name] = file.bytes;
  std::vector<RunFile> there;
  for (const RunFile& file : files) {
    const auto found = now.find(file.name);
    if (found == now.end())
      gone.push_back(file.name);
    else
      there.push_back({file.name, found->second, file.place});
  }
  return there;
}

}  // namespace

FetchedRun fetch_run(const RunFolder& folder, const std::vector<RunFile>& files, const fs::path& into,
                     const std::function<void(const RunFile&)>& told) {
  make_folder(into);
  const fs::path root = fs::canonical(into);
  const Parts parts(root);
  FetchedRun result;
  std::vector<RunFile> left = files;
  for (int round = 0; round < kRounds && !left.empty(); ++round) {
    if (round > 0) left = looked_at_again(folder, left, result.gone);
    const std::vector<std::string> sums = sums_of(folder, left);
    std::vector<RunFile> again;
    std::vector<Wanted> wanted;
    for (size_t i = 0; i < left.size(); ++i) {
      if (sums[i].empty()) {
        again.push_back(left[i]);
      } else if (is_there(root, left[i], sums[i])) {
        ++result.there;
      } else {
        Wanted one{left[i], sums[i], sha256_of(sums[i] + " " + left[i].place)};
        one.from = std::min(parts.bytes(one.part), one.file.bytes);
        wanted.push_back(std::move(one));
      }
    }
    Receiver receiver(parts, wanted, [&](const Wanted& one, int part) {
      if (size_of(part) != one.file.bytes || sha256_of(part) != one.sum) {
        parts.remove(one.part);
        again.push_back(one.file);
        return;
      }
      place_below(root, one.file.place, parts.path(one.part));
      result.fetched.push_back(one.file);
      if (told) told(one.file);
    });
    if (!receiver.is_done())
      folder.shell.stream("its files cannot be fetched", send_script(folder, wanted),
                          [&](std::string_view bytes) { receiver.take(bytes); });
    result.sent += receiver.sent();
    if (!receiver.is_done())
      throw environment_error(
          fmt::format("[sites] {}: the files are cut off; the same command goes on", folder.shell.name()));
    left = std::move(again);
  }
  for (const RunFile& file : left) result.changed.push_back(file.name);
  if (result.changed.empty()) parts.remove_all();
  return result;
}

}  // namespace linac::sites
