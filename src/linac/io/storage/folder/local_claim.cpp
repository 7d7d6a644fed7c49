#include "linac/io/storage/folder/local_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/sole_lock.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr int kTriesMax = 20;  // others may begin at the same moment
constexpr std::chrono::milliseconds kAskAgain{200};
// Workers whose parent was killed finish their step and write a checkpoint.
constexpr std::chrono::milliseconds kChildrenWait{120'000};

fs::path claim_of(const fs::path& folder) {
  return folder / kLocalClaimName;
}

// Reading is enough for a lock on most file systems, and the file may be a colleague's. A pipe in its place is not
// waited for.
Descriptor open_claim(const fs::path& path, int more = 0) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), O_RDWR | kFlags | more, 0644));
  if (!file && (errno == EACCES || errno == EROFS)) file = Descriptor(::open(path.c_str(), O_RDONLY | kFlags));
  return file;
}

bool is_in_place(const Descriptor& file, const fs::path& path) {
  struct stat held = {}, there = {};
  return ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

ClaimHolder holder_in(const Descriptor& file) {
  char text[4096];
  const ssize_t size = ::pread(file.get(), text, sizeof text, 0);
  return ClaimHolder::parse(std::string(text, static_cast<size_t>(std::max<ssize_t>(0, size))));
}

}  // namespace

LocalClaim::LocalClaim(fs::path folder, TakeOver take_over, const std::string& token, std::chrono::milliseconds look)
    : folder_(std::move(folder)), self_(ClaimHolder::here()), look_(look) {
  if (!token.empty()) self_.token = token;
  make_folder(folder_);
  take(take_over);
  if (look_ != kNoThread) thread_ = std::thread([this] { keep(); });
}

LocalClaim::~LocalClaim() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LocalClaim::take(TakeOver take_over) {
  const fs::path path = claim_of(folder_);
  for (int i = 0; i < kTriesMax; ++i) {
    const Descriptor there = open_claim(path, O_CREAT);
    if (!there)
      throw environment_error(fmt::format("[folder] {}: cannot be opened ({}); check space and permissions",
                                          path.string(), std::strerror(errno)));
    if (!wait_for(there, take_over)) continue;
    return put_own();
  }
  throw user_error(fmt::format("[folder] {}: somebody works on it; wait for its end", folder_.string()));
}

// False: another file has taken its place meanwhile.
bool LocalClaim::wait_for(const Descriptor& there, TakeOver take_over) const {
  const fs::path path = claim_of(folder_);
  const auto begin = std::chrono::steady_clock::now();
  bool told = false;
  const auto patience = take_over == TakeOver::kAtOnce ? std::chrono::milliseconds(0) : kAskAgain;
  while (!lock_alone(there.get(), patience)) {
    if (errno != EWOULDBLOCK) {
      log::warn(
          fmt::format("[folder] {}: this file system knows no locks ({}): a second process that begins there is "
                      "not refused",
                      folder_.string(), std::strerror(errno)));
      return true;
    }
    if (!is_in_place(there, path)) return false;
    const ClaimHolder holder = holder_in(there);
    if (take_over == TakeOver::kAtOnce) {
      log::info(fmt::format("[folder] {}: taken over from {}, as --take-over says", folder_.string(), holder.words()));
      return true;
    }
    const bool ended = holder.has_ended();
    if (std::chrono::steady_clock::now() - begin < (ended ? kChildrenWait : kSoleLockWait)) {
      if (ended && !std::exchange(told, true))
        log::info(fmt::format("[folder] {}: {} has ended, and what it started is waited for", folder_.string(),
                              holder.words()));
      continue;
    }
    throw user_error(fmt::format(
        "[folder] {}: {} works on it; wait for its end, or take it over with --take-over. One that was lost is free "
        "once its host's file system knows",
        folder_.string(), holder.words()));
  }
  return is_in_place(there, path);
}

// The old file's lock keeps others away until the new one, which is locked by then, is in its place.
void LocalClaim::put_own() {
  const fs::path path = claim_of(folder_), part = path.string() + ".tmp." + draw_claim_token();
  const std::string text = self_.text();
  file_ = Descriptor(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  const bool written = file_ && ::write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written) try_lock_alone(file_.get());
  if (written && ::fsync(file_.get()) == 0 && ::rename(part.c_str(), path.c_str()) == 0) return;
  const int why = errno;
  ::unlink(part.c_str());
  throw environment_error(fmt::format("[folder] {}: cannot be written ({}); check space and permissions", path.string(),
                                      std::strerror(why)));
}

void LocalClaim::share_with_children() const {
  ::fcntl(file_.get(), F_SETFD, 0);
}

void LocalClaim::on_loss(std::function<void()> act) {
  const std::scoped_lock lock(mutex_);
  on_loss_ = std::move(act);
}

void LocalClaim::check() const {
  const ClaimHolder there = local_claim_of(folder_);
  if (there.token.empty() || there.token == self_.token) return;
  throw user_error(taken_over_words(folder_.string(), there.words()));
}

void LocalClaim::keep() {
  const BackgroundWork background;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look_, [&] { return ending_; })) {
    lock.unlock();
    bool lost = false;
    try {
      check();
    } catch (const Error& error) {
      log::error(error.what());
      lost = true;
    }
    lock.lock();
    if (!lost || ending_) continue;
    if (on_loss_) on_loss_();
    return;
  }
}

ClaimHolder local_claim_of(const fs::path& folder) {
  const Descriptor file(::open(claim_of(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file ? holder_in(file) : ClaimHolder{};
}

Descriptor hold_local_claim(const fs::path& folder, const std::string& token) {
  Descriptor file = open_claim(claim_of(folder));
  const bool mine = file && holder_in(file).token == token && try_lock_alone(file.get());
  return mine && is_in_place(file, claim_of(folder)) ? std::move(file) : Descriptor();
}

}  // namespace linac::storage
