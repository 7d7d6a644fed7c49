#include "linac/io/storage/folder/folder_mirror.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/progress.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRedraw{100};

}  // namespace

FolderMirror::FolderMirror(std::string url, std::unique_ptr<FolderUpload> upload, std::function<void()> on_loss,
                           MirrorTimes times)
    : url_(std::move(url)), times_(times), on_loss_(std::move(on_loss)), upload_(std::move(upload)) {
  thread_ = std::thread([this] { run(); });
}

FolderMirror::~FolderMirror() {
  {
    const std::scoped_lock lock(mutex_);
    wish_ = Wish::kStop;
  }
  changed_.notify_all();
  thread_.join();
}

void FolderMirror::finish(bool last) {
  Progress line(fmt::format("sending to {}", net::without_secrets(url_)), 0);
  std::unique_lock lock(mutex_);
  if (wish_ == Wish::kGoOn) wish_ = last ? Wish::kFinishLast : Wish::kFinish;
  changed_.notify_all();
  while (!changed_.wait_for(lock, kRedraw, [&] { return done_; })) {
    lock.unlock();
    const FolderUpload::Progress now = upload_->progress();
    line.update(now.sent, fmt::format("{} of {} files", now.sent, now.files));
    lock.lock();
  }
  line.finish(failure_ ? "" : "all is there");
  if (failure_) std::rethrow_exception(failure_);
}

// --- the thread -----------------------------------------------------------------------------------------------------

/// False: somebody wishes something else meanwhile.
bool FolderMirror::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [&] { return wish_ != Wish::kGoOn; });
}

void FolderMirror::run() {
  const BackgroundWork background;
  Clock::time_point next = Clock::now(), next_full = next;
  try {
    do {
      const Clock::time_point now = Clock::now();
      if (now < next || (now < next_full && !upload_->has_new_snapshot())) continue;
      if (pass(FolderUpload::Pass::kQuick)) {
        next_full = Clock::now() + times_.interval;
      } else {
        next = Clock::now() + wait_after_failures();
        next_full = next;
      }
    } while (wait(times_.look));
    Wish wish{};
    {
      const std::scoped_lock lock(mutex_);
      wish = wish_;
    }
    if (wish != Wish::kStop) finish_in_thread(wish == Wish::kFinishLast);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::current_exception();
  }
  const std::scoped_lock lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

std::chrono::milliseconds FolderMirror::wait_after_failures() const {
  return std::min(times_.first_wait * (1 << std::min(failures_ - 1, 10)), times_.wait_max);
}

/// Whether it went well. Throws when another process has the folder.
bool FolderMirror::pass(FolderUpload::Pass pass) {
  std::string what;
  try {
    upload_->send(pass);
    if (failures_ > 0) log::info(fmt::format("[folder] {}: has all that is new again", net::without_secrets(url_)));
    failures_ = 0;
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUser) {
      on_loss_();
      throw;
    }
    what = error.what();
  } catch (const std::exception& error) {
    what = error.what();
  }
  if (++failures_ == 1) {
    log::warn(fmt::format("{}; the training goes on, and what is new is sent to {} when that is mended", what,
                          net::without_secrets(url_)));
  }
  return false;
}

// A refusal does not become better by waiting; a network does.
void FolderMirror::finish_in_thread(bool last) {
  Clock::time_point end = Clock::now() + times_.patience;
  failures_ = 0;
  for (const bool is_last : {false, true}) {
    if (is_last && !last) return;
    for (int64_t sent = -1;;) {
      try {
        upload_->send(is_last ? FolderUpload::Pass::kLast : FolderUpload::Pass::kAll);
        failures_ = 0;
        break;
      } catch (const Temporary&) {
        if (const int64_t now = upload_->progress().sent; now > sent) {
          sent = now;
          end = Clock::now() + times_.patience;
        }
        ++failures_;
        if (Clock::now() >= end) throw;
      }
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, wait_after_failures(), [&] { return wish_ == Wish::kStop; })) return;
    }
  }
}

}  // namespace linac::storage
