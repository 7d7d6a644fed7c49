#include "linac/io/data/order/batch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/trace.h"
#include "linac/io/data/dataset.h"
#include "linac/io/data/event_table.h"

namespace linac::data {
namespace {

constexpr int kThreadsMax = 64;
// Reading threads may be in the next epoch while others finish this one.
constexpr size_t kOrdersMax = 3;

void need(bool holds, const std::string& what) {
  if (!holds) throw user_error("[data] " + what);
}

/// `events`: of the set; nothing where its order has no end.
BatchStreamOptions checked(BatchStreamOptions options, std::optional<int64_t> events) {
  need(options.batch >= 1 && options.replicas >= 1, "batch and replicas must be at least 1");
  need(!options.depth || (*options.depth >= 1 && *options.depth <= kDepthMax),
       fmt::format("prefetch must be 1 to {}", kDepthMax));
  need(options.threads >= 1 && options.threads <= kThreadsMax, fmt::format("threads must be 1 to {}", kThreadsMax));
  need(options.steps_per_epoch >= 0, "steps_per_epoch must not be negative");
  for (const int replica : options.owned) LINAC_CHECK(replica >= 0 && replica < options.replicas);
  if (!events) return options;
  const int64_t possible = *events / options.replicas / options.batch;
  need(possible >= 1, fmt::format("a step takes {} replicas x {} events but the set has only {}; lower train.batch or "
                                  "train.replicas, or add files",
                                  options.replicas, options.batch, *events));
  need(options.steps_per_epoch <= possible,
       fmt::format(
           "{} steps of {} replicas x {} events are wanted in an epoch but the {} events of the set make only {}; "
           "lower train.steps_per_epoch",
           options.steps_per_epoch, options.replicas, options.batch, *events, possible));
  if (options.steps_per_epoch == 0) options.steps_per_epoch = possible;
  return options;
}

int64_t values_in(const SampleBatch& batch) {
  return static_cast<int64_t>(batch.image.size() + batch.energy.size() + batch.angle.size() + batch.ecal.size());
}

int64_t values_in(const TableBatch& batch) {
  int64_t values = 0;
  for (const std::vector<float>& column : batch.columns) values += static_cast<int64_t>(column.size());
  return values;
}

/// At least 1.
template <class Batch>
int64_t bytes_of(const std::vector<Batch>& batches) {
  int64_t bytes = 1;
  for (const Batch& batch : batches) bytes += static_cast<int64_t>(sizeof(float)) * values_in(batch);
  return bytes;
}

template <class Set>
std::optional<int64_t> events_of_epoch(const Set& set, const BatchStreamOptions& options) {
  if (kHasWindows<Set> && options.steps_per_epoch > 0) return std::nullopt;
  return set.size();
}

}  // namespace

template <class Set>
BatchStream<Set>::BatchStream(std::shared_ptr<const Set> set, Options options, Position start)
    : set_(std::move(set)),
      options_(checked(options, events_of_epoch(*set_, options))),
      start_(start),
      depth_(options_.depth.value_or(kDepthFirst)) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
}

template <class Set>
BatchStream<Set>::~BatchStream() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

template <class Set>
typename BatchStream<Set>::Step BatchStream<Set>::next() {
  std::unique_lock lock(mutex_);
  if (!results_.contains(delivered_)) deepen();
  ready_.wait(lock, [this] { return results_.contains(delivered_); });
  Result& result = results_.at(delivered_);
  if (result.error) std::rethrow_exception(result.error);
  Step step = std::move(result.step);
  results_.erase(delivered_);
  ++delivered_;
  room_.notify_all();
  return step;
}

template <class Set>
int BatchStream<Set>::depth() const {
  const std::scoped_lock lock(mutex_);
  return depth_;
}

// More steps bridge a time in which reading is slow, if it is faster than the training at others: then all were there.
template <class Set>
void BatchStream<Set>::deepen() {
  if (options_.depth || !was_full_) return;
  const int64_t most = std::clamp<int64_t>(kDepthBytes / step_bytes_, depth_, kDepthMax);
  depth_ = static_cast<int>(std::min<int64_t>(most, 2 * depth_));
  was_full_ = false;
  room_.notify_all();
}

template <class Set>
void BatchStream<Set>::work() {
  trace::name_thread("input");
  for (;;) {
    uint64_t ticket = 0;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [this] { return stop_ || claimed_ - delivered_ < static_cast<uint64_t>(depth_); });
      if (stop_) return;
      ticket = claimed_++;
    }
    Result result;
    try {
      const trace::Span span("read a step");
      result.step = read_step(position_of(ticket));
    } catch (...) {
      result.error = std::current_exception();
    }
    {
      const std::scoped_lock lock(mutex_);
      step_bytes_ = bytes_of(result.step.replicas);
      results_.emplace(ticket, std::move(result));
      was_full_ = was_full_ || std::cmp_greater_equal(results_.size(), depth_);
    }
    ready_.notify_all();
  }
}

template <class Set>
Position BatchStream<Set>::position_of(uint64_t ticket) const {
  const auto steps = static_cast<uint64_t>(options_.steps_per_epoch);
  const uint64_t step = start_.step + ticket;
  return {static_cast<uint32_t>(start_.epoch + step / steps), static_cast<uint32_t>(step % steps)};
}

// In the epoch's order, of the first event of a replica's batch.
template <class Set>
int64_t BatchStream<Set>::place_of(Position position, int replica) const {
  return (static_cast<int64_t>(position.step) * options_.replicas + replica) * options_.batch;
}

template <class Set>
void BatchStream<Set>::read_batch(const Order& order, int64_t begin, typename Set::Batch& batch) {
  if constexpr (kHasWindows<Set>) {
    set_->read(order->slice(begin, options_.batch), batch);
  } else {
    const std::span<const int64_t> events = *order;
    set_->read(events.subspan(static_cast<size_t>(begin), static_cast<size_t>(options_.batch)), batch);
  }
}

template <class Set>
typename Set::Batch BatchStream<Set>::read(Position position, int replica) {
  LINAC_CHECK(replica >= 0 && replica < options_.replicas);
  const Order order = order_of(position.epoch);
  const int64_t begin = place_of(position, replica);
  if constexpr (kHasWindows<Set>) order->window_of(begin + options_.batch - 1);
  typename Set::Batch batch;
  read_batch(order, begin, batch);
  return batch;
}

template <class Set>
EventOfFile BatchStream<Set>::event_of(Position position, size_t replica, int64_t i) {
  const Order order = order_of(position.epoch);
  const int64_t place = place_of(position, options_.owned[replica]) + i;
  if constexpr (kHasWindows<Set>) {
    order->window_of(place);
    return order->slice(place, 1).front();
  } else {
    return {.file = 0, .event = order->at(static_cast<size_t>(place))};
  }
}

template <class Set>
typename BatchStream<Set>::Step BatchStream<Set>::read_step(Position position) {
  const Order order = order_of(position.epoch);
  Step step{position, std::vector<typename Set::Batch>(options_.owned.size())};
  if constexpr (kHasWindows<Set>) {
    const int64_t step_events = options_.replicas * options_.batch, begin = position.step * step_events;
    if (set_->coming(*order, begin, options_.steps_per_epoch * step_events))
      set_->coming_next(*order_of(position.epoch + 1));
    step.window = order->window_of(begin);
    const int64_t last = order->window_of(begin + step_events - 1).window;
    for (int64_t window = step.window.window; window <= last; ++window)
      for (const uint32_t file : order->files(window)) step.files.push_back(file);
  }
  for (size_t i = 0; i < options_.owned.size(); ++i)
    read_batch(order, place_of(position, options_.owned[i]), step.replicas[i]);
  return step;
}

template <class Set>
typename BatchStream<Set>::Order BatchStream<Set>::drawn_order(uint32_t epoch) const {
  if constexpr (kHasWindows<Set>) {
    return set_->order(options_.seed, epoch, epoch == start_.epoch ? options_.window : WindowPlace{});
  } else {
    if (options_.shuffle)
      return std::make_shared<std::vector<int64_t>>(epoch_order(options_.seed, epoch, set_->size()));
    const auto order = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(set_->size()));
    std::iota(order->begin(), order->end(), 0);
    return order;
  }
}

template <class Set>
typename BatchStream<Set>::Order BatchStream<Set>::order_of(uint32_t epoch) {
  const std::scoped_lock lock(order_mutex_);
  const auto found = orders_.find(epoch);
  if (found != orders_.end()) return found->second;
  const Order order = drawn_order(epoch);
  orders_[epoch] = order;
  if (orders_.size() > kOrdersMax) orders_.erase(orders_.begin());
  return order;
}

template class BatchStream<Dataset>;
template class BatchStream<EventTable>;
template class BatchStream<WindowedSet<EventTable>>;
template class BatchStream<WindowedSet<Dataset>>;

}  // namespace linac::data
