#pragma once
// The order of a data set in training, and the threads that read ahead in it. Which event a replica sees at a step is a
// pure function of (seed, epoch, step, replica): never of the number of workers, threads or restarts.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "linac/io/data/order/epoch_order.h"
#include "linac/io/data/order/windowed_set.h"

namespace linac::data {

template <class Set>
inline constexpr bool kHasWindows = false;
template <class Set>
inline constexpr bool kHasWindows<WindowedSet<Set>> = true;

/// The next step to be done.
struct Position {
  uint32_t epoch = 0;
  uint32_t step = 0;
  bool operator==(const Position&) const = default;
};

// Steps read ahead where nobody says how many. One that is waited for although all of them were there before doubles
// them, as far as they fit into the memory.
inline constexpr int kDepthFirst = 3, kDepthMax = 64;
inline constexpr int64_t kDepthBytes = int64_t{64} << 20;

struct BatchStreamOptions {
  uint64_t seed = 0;
  int64_t batch = 1;
  int replicas = 1;
  std::vector<int> owned;                   // replicas this worker carries
  int64_t steps_per_epoch = 0;              // 0: all events; what is left of a global batch is skipped
  std::optional<int> depth = std::nullopt;  // steps read ahead; none: kDepthFirst, and more where they help
  int threads = 1;
  bool shuffle = true;
  WindowPlace window = {};  // of a windowed set: one of the first epoch, at or before the first step
};

/// Delivers batches strictly in order. One thread calls next(); the stream owns its reading threads, which hold at most
/// depth() steps in memory. `Set` is Dataset or EventTable, a thread-safe set->read(events, Set::Batch&)
/// of set->size() events, or a WindowedSet of them, which has an order of its own.
template <class Set>
class BatchStream {
 public:
  using Options = BatchStreamOptions;
  struct Step {
    Position position;
    std::vector<typename Set::Batch> replicas;  // as in Options::owned
    // Of a windowed set: where the step's first event is, and the files of the windows of all replicas' events.
    WindowPlace window = {};
    std::vector<uint32_t> files = {};
  };

  /// User error when an epoch needs more events than the set has, or a setting cannot be. The order of a windowed set
  /// has no end: with steps_per_epoch an epoch may be longer than the set.
  BatchStream(std::shared_ptr<const Set> set, Options options, Position start);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// Replica r of step s reads order[(s*replicas + r)*batch ... + batch) of its epoch's order. Never ends: after an
  /// epoch comes the next. What a reading thread threw for this step is thrown here, now and on every later call.
  Step next();
  /// Of any replica, read at once; what next() gives is not touched. Thread-safe, also beside next(). Throws what
  /// reading does.
  typename Set::Batch read(Position position, int replica);
  int64_t steps_per_epoch() const { return options_.steps_per_epoch; }
  /// Which event stands at place `i` of the batch of Options::owned[replica] in a step that next() has given; without
  /// windows by its number in the set, as one of file 0.
  EventOfFile event_of(Position position, size_t replica, int64_t i);
  /// Steps that are read ahead by now.
  int depth() const;

 private:
  using Order = std::shared_ptr<const std::conditional_t<kHasWindows<Set>, WindowedOrder, std::vector<int64_t>>>;
  struct Result {
    Step step;
    std::exception_ptr error;
  };

  void work();
  void deepen();
  Position position_of(uint64_t ticket) const;
  int64_t place_of(Position position, int replica) const;
  void read_batch(const Order& order, int64_t begin, typename Set::Batch& batch);
  Step read_step(Position position);
  Order order_of(uint32_t epoch);
  Order drawn_order(uint32_t epoch) const;

  std::shared_ptr<const Set> set_;
  Options options_;
  Position start_;

  mutable std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::map<uint64_t, Result> results_;
  int depth_;
  bool was_full_ = false;   // since depth_ has changed
  int64_t step_bytes_ = 1;  // of the last step
  uint64_t claimed_ = 0, delivered_ = 0;
  bool stop_ = false;

  std::mutex order_mutex_;
  std::map<uint32_t, Order> orders_;
  std::vector<std::thread> threads_;
};

}  // namespace linac::data
