#include "linac/train/train/record/run_mirror.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/sole_lock.h"
#include "linac/base/job/run_files.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/folder/folder_copy.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCopyFile = ".linac-copy";  // in the folder: its Manifest::copy

std::string draw_copy() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::string without_slashes(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string checked(std::string url) {
  url = without_slashes(std::move(url));
  const size_t bucket = url.find("://") + 3;
  if (!storage::is_remote(url) || !storage::store_of(url).has_conditions()) {
    throw user_error(
        fmt::format("[train] --out {}: a run's folder lies in a file system or at s3://; give a path, or "
                    "s3://BUCKET/FOLDER",
                    net::without_secrets(url)));
  }
  if (url.find('/', bucket) == std::string::npos || url.find_first_of("*?[", bucket) != std::string::npos)
    throw user_error(fmt::format("[train] --out {}: name a folder of the bucket, s3://BUCKET/FOLDER", url));
  return url;
}

// Two processes of this host would write into one folder, also where the server refuses nothing.
Descriptor lock_of(const fs::path& folder, const std::string& url) {
  make_folder(folder.parent_path());
  Descriptor lock(::open((folder.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) throw environment_error(fmt::format("[train] {}: cannot be written; set LINAC_CACHE", folder.string()));
  if (!lock_alone(lock.get()) && errno == EWOULDBLOCK) {
    throw user_error(fmt::format("[train] {}: another process of this host works on it; wait for its end, or end it",
                                 net::without_secrets(url)));
  }
  return lock;
}

std::string copy_of(const fs::path& folder) {
  std::error_code none;
  return fs::is_regular_file(folder / kCopyFile, none) ? read_file(folder / kCopyFile) : "";
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) {
    throw environment_error(
        fmt::format("[train] {}: a former copy of the run cannot be removed ({})", folder.string(), error.message()));
  }
}

}  // namespace

storage::FolderRules rules_of_run() {
  return {job::is_kept_file, job::kCheckpointsFolder, job::is_snapshot};
}

fs::path mirrored_folder(const std::string& url) {
  const std::string plain = without_slashes(url);
  std::string name = plain.substr(plain.rfind('/') + 1);
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; });
  return storage::cache_folder() / "runs" / fmt::format("{}-{}", storage::content_hash(plain).substr(0, 16), name);
}

RunMirror::RunMirror(std::string url, Start start, storage::TakeOver take_over)
    : url_(checked(std::move(url))), folder_(mirrored_folder(url_)), start_(start), lock_(lock_of(folder_, url_)) {
  const auto look = [this] {
    known_ = storage::read_manifest(url_);
    need_place_for(start_, known_ && known_->manifest.find("job.yaml") != nullptr, net::without_secrets(url_));
  };
  if (start_ == Start::kResume) look();  // a mistyped place is not even claimed
  claim_.emplace(url_, take_over);
  look();
}

RunMirror::~RunMirror() = default;

void RunMirror::bring() {
  const bool there = start_ != Start::kFresh && known_;
  copy_ = copy_of(folder_);
  if (there && !copy_.empty() && copy_ == known_->manifest.copy) {
    log::info(fmt::format("{}: goes on in {}, where it was", net::without_secrets(url_), folder_.string()));
    return;
  }
  remove_folder(folder_);
  make_folder(folder_);
  fs::permissions(folder_, fs::perms::owner_all);
  if (there) {
    known_ = storage::fetch_folder(url_, std::move(*known_), folder_, rules_of_run().is_snapshot);
    int64_t bytes = 0;
    for (const storage::ManifestFile& file : known_->manifest.files) bytes += file.size;
    log::info(fmt::format("{}: {} ({:.1f} MB) fetched into {}", net::without_secrets(url_),
                          plural(static_cast<int64_t>(known_->manifest.files.size()), "file"),
                          static_cast<double>(bytes) / 1e6, folder_.string()));
  } else {
    log::info(fmt::format("{}: worked on in {}", net::without_secrets(url_), folder_.string()));
  }
  // Last: a folder without it is not gone on with.
  copy_ = draw_copy();
  write_file_atomically(folder_ / kCopyFile, copy_);
}

void RunMirror::start() {
  // The training saves a checkpoint here, and ends.
  const auto stop = [] { ::kill(::getpid(), SIGTERM); };
  claim_->on_loss(stop);
  auto upload = std::make_unique<storage::FolderUpload>(url_, folder_, rules_of_run(), copy_, std::move(known_),
                                                        [this] { claim_->look(); });
  mirror_ = std::make_unique<storage::FolderMirror>(url_, std::move(upload), stop);
}

void RunMirror::finish(bool complete) {
  try {
    claim_->check();
    mirror_->finish(complete);
    claim_->check();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUser) throw;  // of another process now
    throw environment_error(
        fmt::format("{}. Not all of the run is at {}: the rest lies in {}, and `linac train ... --out {} --resume` on "
                    "this host sends it",
                    error.what(), net::without_secrets(url_), folder_.string(), net::without_secrets(url_)));
  }
  mirror_.reset();
  std::error_code ignored;
  if (complete) fs::remove_all(folder_, ignored);
}

}  // namespace linac::train
