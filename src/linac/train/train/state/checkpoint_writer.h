#pragma once
// Checkpoints on their way to the disk while the training goes on. The training pauses for a copy of its state; a
// thread encodes the copy, writes it, and removes older files.
//
// The thread takes a tenth of a processor, so that the steps beside it hardly take longer; all of one once the training
// waits for it.
//
// At most one checkpoint is under way. A further one waits for it: so each that the job asks for is written, memory
// holds one copy, and a disk that is slower than the job slows the training down instead of falling behind.
//
// Used by one thread. What the other thread could not write is thrown by the next call here, once; but for what another
// worker writes by now (record/record_fence.h).

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "linac/base/base/rng.h"
#include "linac/train/train/state/checkpoint.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class CheckpointWriter {
 public:
  /// What a state is written as: the checkpoint of its step, the best one, the one that is handed over.
  struct Files {
    bool step = true, best = false, restored = false;
    std::optional<RngKey> turned = {};  // a bit of each turns over behind its digest, a fault made on purpose
  };
  /// `told` is called by the thread: what it writes, again whenever it has come further; empty when it has nothing to
  /// write any more.
  using Told = std::function<void(const char* what)>;

  CheckpointWriter(CheckpointStore store, Told told);
  /// Waits until all is written. What fails then is logged.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Takes the memory of the copy, which pages that nobody has touched would make slow: a state of the same size is
  /// saved later. Before anything else.
  void prepare(const TrainState& state) { copy_ = state; }
  /// Returns once the state has been copied. `notes`: see encode().
  void save(const TrainState& state, nlohmann::json notes, const Files& files);
  /// Writes a small file once the checkpoint before it is on the disk. Of several that wait and are the same `what`,
  /// the last alone. `what`: for Told, a literal.
  void follow(const char* what, std::function<void()> write);
  /// The same for files of which each is to be written. Waits while too many wait.
  void add(const char* what, std::function<void()> write);
  /// Returns when nothing is under way any more.
  void wait();
  /// Throws if something could not be written; never waits.
  void check();
  /// This worker does not keep the record any more: what is not in its place yet does not come there. Waits for that.
  void give_up();

  /// While nothing is under way: waits for that.
  CheckpointStore& store();

 private:
  class GivenUp {};
  struct Follower {
    const char* what;
    std::function<void()> write;
    bool replaceable;
  };

  void run();
  void write_checkpoint();
  void rest(std::chrono::nanoseconds worked);
  bool idle() const { return !checkpoint_due_ && followers_.empty() && !busy_; }  // under the mutex
  template <class Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, const Condition& condition);
  void throw_failure(std::unique_lock<std::mutex>& lock);

  CheckpointStore store_;
  const Told told_;
  TrainState copy_;  // of the thread while a checkpoint is due; its memory is used again
  nlohmann::json notes_;
  Files files_;

  std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  bool checkpoint_due_ = false, busy_ = false, given_up_ = false, ending_ = false;
  bool awaited_ = false;  // the training waits: what is written is its progress as well
  std::deque<Follower> followers_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace linac::train
