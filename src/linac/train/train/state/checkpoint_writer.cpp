#include "linac/train/train/state/checkpoint_writer.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/trace.h"
#include "linac/base/base/turned_bit.h"

namespace linac::train {
namespace {

constexpr const char* kCheckpoint = "writing a checkpoint";
constexpr size_t kFollowersMax = 8;  // pictures of some epochs
constexpr int kRestOverWork = 9;

// Of this thread. A wait for a disk takes nothing from the steps.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointStore store, Told told)
    : store_(std::move(store)), told_(std::move(told)), thread_([this] { run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = awaited_ = true;
  }
  changed_.notify_all();
  thread_.join();
  try {
    if (failure_) std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    log::warn(error.what());
  }
}

void CheckpointWriter::save(const TrainState& state, nlohmann::json notes, const Files& files) {
  {
    std::unique_lock lock(mutex_);
    wait_until(lock, [&] { return !checkpoint_due_; });
    throw_failure(lock);
  }
  copy_ = state;  // into the same memory as the one before
  notes_ = std::move(notes);
  files_ = files;
  {
    const std::lock_guard lock(mutex_);
    checkpoint_due_ = true;
  }
  changed_.notify_all();
}

void CheckpointWriter::follow(const char* what, std::function<void()> write) {
  {
    std::unique_lock lock(mutex_);
    throw_failure(lock);
    std::erase_if(followers_,
                  [&](const Follower& one) { return one.replaceable && std::string_view(one.what) == what; });
    followers_.push_back({what, std::move(write), true});
  }
  changed_.notify_all();
}

void CheckpointWriter::add(const char* what, std::function<void()> write) {
  {
    std::unique_lock lock(mutex_);
    wait_until(lock, [&] { return followers_.size() < kFollowersMax; });
    throw_failure(lock);
    followers_.push_back({what, std::move(write), false});
  }
  changed_.notify_all();
}

void CheckpointWriter::wait() {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return idle(); });
  throw_failure(lock);
}

void CheckpointWriter::check() {
  std::unique_lock lock(mutex_);
  throw_failure(lock);
}

void CheckpointWriter::give_up() {
  std::unique_lock lock(mutex_);
  followers_.clear();
  given_up_ = true;
  wait_until(lock, [&] { return idle(); });
  given_up_ = false;
  failure_ = {};  // nobody's any more
}

CheckpointStore& CheckpointWriter::store() {
  wait();
  return store_;
}

template <class Condition>
void CheckpointWriter::wait_until(std::unique_lock<std::mutex>& lock, const Condition& condition) {
  awaited_ = true;
  changed_.notify_all();  // no rest any more
  changed_.wait(lock, condition);
  awaited_ = false;
}

void CheckpointWriter::throw_failure(std::unique_lock<std::mutex>& lock) {
  if (!failure_) return;
  const std::exception_ptr failure = std::exchange(failure_, {});
  lock.unlock();
  std::rethrow_exception(failure);
}

// --- the thread -----------------------------------------------------------------------------------------------------

void CheckpointWriter::run() {
  trace::name_thread("checkpoint writer");
  pthread_setname_np(pthread_self(), "checkpoints");  // where it hangs, and what it takes of a processor
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !idle(); });
    if (idle()) return;
    const bool checkpoint = checkpoint_due_;
    Follower small{kCheckpoint, {}, false};
    if (!checkpoint) {
      small = std::move(followers_.front());
      followers_.pop_front();
    }
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    told_(small.what);
    try {
      const trace::Span span(small.what);
      checkpoint ? write_checkpoint() : small.write();
    } catch (const GivenUp&) {
    } catch (const Error& error) {
      // Another one's turn: it writes what is to be written, and the training hears of it by the group.
      if (error.code() != ErrorCode::kPeerLost) failure = std::current_exception();
    } catch (...) {
      failure = std::current_exception();
    }
    told_("");
    lock.lock();
    busy_ = false;
    if (checkpoint) checkpoint_due_ = false;
    if (failure && !failure_) failure_ = failure;  // the first one counts
    changed_.notify_all();
  }
}

/// Beside a training that goes on.
void CheckpointWriter::rest(std::chrono::nanoseconds worked) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kRestOverWork * worked, [&] { return awaited_ || given_up_; });
}

void CheckpointWriter::write_checkpoint() {
  const auto go_on = [&] {
    const std::lock_guard lock(mutex_);
    if (given_up_) throw GivenUp();
    if (awaited_) piece_is_done();
  };
  const auto tell = [&](const TakePiece& take) {
    auto since = processor_time();
    std::vector<std::byte> turned;
    int pieces = 0;
    tell_encoded(copy_, notes_, [&](std::span<const std::byte> piece) {
      if (files_.turned && ++pieces == 2) {  // behind the header
        turned.assign(piece.begin(), piece.end());
        turn_a_bit(turned, *files_.turned);
        piece = turned;
      }
      take(piece);
      rest(processor_time() - since);
      since = processor_time();
    });
    go_on();  // the whole of it lies beside its place
  };
  const auto synced = [&] {
    told_(kCheckpoint);
    go_on();
  };
  // The chosen ones come second: whoever finds a checkpoint of their state, after a kill or in a copy that is made
  // meanwhile, and older ones, makes them of it (RecordKeeper).
  if (files_.step) store_.save(copy_.global_step, tell, synced);
  if (files_.best) store_.mark_best(tell, synced);
  if (files_.restored) store_.mark_restored(tell, synced);
}

}  // namespace linac::train
