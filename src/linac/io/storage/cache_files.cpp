#include "linac/io/storage/cache_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/sole_lock.h"
#include "linac/io/storage/copy_note.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartEndings[] = {".part", ".part.journal"};
constexpr std::string_view kPartMark = ".tmp.";  // and the number of a process

bool is_note(const fs::path& file) {
  if (file.extension() != ".json") return false;
  if (file.parent_path().filename() == "copies") return true;  // of `data copy`: all that is kept of one
  std::error_code none;
  fs::path copy = file;
  copy.replace_extension();
  return fs::exists(copy, none) || fs::exists(copy.string() + ".part", none);
}

}  // namespace

fs::path whole_of(const fs::path& part) {
  std::string name = part.filename().string();
  for (const std::string_view ending : kPartEndings)
    if (name.ends_with(ending)) return part.parent_path() / name.substr(0, name.size() - ending.size());
  const size_t mark = name.rfind(kPartMark);
  const bool numbered =
      mark != std::string::npos && name.find_first_not_of("0123456789.", mark + kPartMark.size()) == std::string::npos;
  return part.parent_path() / name.substr(0, numbered ? mark : name.size());
}

FileRole role_of(const fs::path& file) {
  if (file.extension() == ".lock") return FileRole::kLock;
  if (is_note(file)) return FileRole::kNote;
  return whole_of(file) == file ? FileRole::kCopy : FileRole::kPart;
}

void each_file(const fs::path& folder, const std::function<void(const fs::path&, const struct stat&)>& take) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat status {};
    if (::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) take(entry->path(), status);
  }
}

std::set<std::string> used_paths(const fs::path& root) {
  std::set<std::string> used;
  std::error_code error;
  for (fs::directory_iterator entry(root / "uses", error), end; !error && entry != end; entry.increment(error)) {
    const Descriptor file(::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) continue;
    if (try_lock_shared(file.get())) {
      ::unlink(entry->path().c_str());
      continue;
    }
    std::set<std::string> of_process;
    std::istringstream lines(read_file(entry->path()));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(kReleased))
        of_process.erase(line.substr(1));
      else
        of_process.insert(line);
    }
    used.merge(of_process);
  }
  return used;
}

fs::path turn_of(const fs::path& root) {
  return root / "room.lock";
}

}  // namespace linac::storage
