#include "linac/control/agent/folder_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/job/run_files.h"
#include "linac/base/job/run_record.h"

namespace linac::agent {
namespace {

namespace fs = std::filesystem;

/// At most `size` bytes from a place on; empty where there is nothing.
std::string piece_of(const fs::path& file, int64_t from, size_t size) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string bytes(size, '\0');
  const ssize_t got = opened ? ::pread(opened.get(), bytes.data(), bytes.size(), from) : 0;
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

bool is_weights_or_report(const std::string& name) {
  return name.starts_with("models/") || name.starts_with("report/") || name.starts_with("evaluation/");
}

bool is_small_fact(const std::string& name) {
  return name == "job.yaml" || name == job::kSummaryFile;
}

}  // namespace

FolderSync::FolderSync(PilotClient& client, Lease lease, fs::path folder, fs::path log)
    : client_(client), lease_(std::move(lease)), folder_(std::move(folder)), log_(std::move(log)) {}

FolderSync::State FolderSync::state_of(const fs::path& file) {
  struct stat about {};
  if (::lstat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  return {about.st_ino, about.st_size,
          static_cast<int64_t>(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec};
}

/// By name; links and what is no file of a run are left out.
std::vector<std::string> FolderSync::files() const {
  std::vector<std::string> names;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder_, options, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code none;
    if (!fs::is_regular_file(entry->symlink_status(none))) continue;
    std::string name = entry->path().lexically_relative(folder_).string();
    if (job::is_handed_in(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void FolderSync::fetch() {
  remove_tree(folder_);
  make_folder(folder_);
  const std::vector<RemoteFile> remote = client_.files(lease_);
  remote_seen_ = true;
  std::string newest;
  for (const RemoteFile& file : remote) {
    if (!job::is_snapshot(file.name)) continue;
    snapshots_.insert(file.name);
    newest = std::max(newest, file.name);
  }
  for (const RemoteFile& file : remote) {
    const bool older = job::is_snapshot(file.name) && file.name != newest;
    if (!job::is_kept_file(file.name) || is_weights_or_report(file.name) || older) continue;
    make_folder((folder_ / file.name).parent_path());
    client_.fetch(lease_, file, folder_ / file.name);
    known_[file.name] = state_of(folder_ / file.name);
  }
}

void FolderSync::send_log() {
  for (;;) {
    const std::string bytes = piece_of(log_, log_sent_, kPieceBytes);
    if (bytes.empty()) return;
    const int64_t end = client_.send_log(lease_, log_sent_, bytes);
    if (end == log_sent_) return;  // it does not take it now
    log_sent_ = end;
  }
}

void FolderSync::send_record() {
  const fs::path file = folder_ / job::kMetricsFile;
  const State now = state_of(file);
  if (now.size < 0) return;
  if (now.inode != record_ || now.size < record_sent_) {
    if (!client_.put(lease_, job::kMetricsFile, file)) return;
    record_ = now.inode;
    record_sent_ = now.size;
  }
  for (;;) {
    const std::string bytes = piece_of(file, record_sent_, kPieceBytes);
    if (bytes.empty()) return;
    const int64_t end = client_.send_lines(lease_, record_sent_, bytes);
    if (end <= record_sent_) {
      record_ = 0;  // it has less than was sent: whole again
      return;
    }
    record_sent_ = end;
  }
}

void FolderSync::send_file(const std::string& name) {
  const State now = state_of(folder_ / name);
  const auto known = known_.find(name);
  if (now.size < 0 || (known != known_.end() && known->second == now)) return;
  if (client_.put(lease_, name, folder_ / name)) known_[name] = now;
}

void FolderSync::send_snapshot(const std::string& name) {
  if (!remote_seen_)  // a former agent fetched the folder
    for (const RemoteFile& file : client_.files(lease_))
      if (job::is_snapshot(file.name)) snapshots_.insert(file.name);
  remote_seen_ = true;
  send_file(name);
  snapshots_.insert(name);
  for (auto other = snapshots_.begin(); other != snapshots_.end();) {
    if (*other == name) {
      ++other;
      continue;
    }
    client_.remove(lease_, *other);
    known_.erase(*other);
    other = snapshots_.erase(other);
  }
}

void FolderSync::send_some(const std::vector<std::string>& files, bool last) {
  std::string newest;
  for (const std::string& name : files)
    if (job::is_snapshot(name)) newest = name;
  send_log();
  send_record();
  for (const std::string& name : files)
    if (is_small_fact(name)) send_file(name);
  const bool new_snapshot = !newest.empty() && !known_.contains(newest);
  if (new_snapshot) send_snapshot(newest);
  if (!new_snapshot && !last) return;
  for (const std::string& name : files) {
    const bool done = job::is_snapshot(name) || is_small_fact(name) || name == job::kMetricsFile;
    if (!done && (last || !is_weights_or_report(name))) send_file(name);
  }
}

void FolderSync::send() {
  send_some(files(), false);
}

void FolderSync::send_last() {
  send_some(files(), true);
}

}  // namespace linac::agent
