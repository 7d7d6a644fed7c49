#include "linac/control/service/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/control/http/routes/json_fields.h"

namespace linac::service {

using nlohmann::json;

/// What all feeds of a hub have in common.
struct Shared {
  std::atomic<int64_t> subscribers = 0;
  std::mutex mutex{};
  std::unordered_set<Subscription*> all{};  // of these
  std::atomic<bool> stopped = false;
};

/// The news of one run. The numbers of its events start at the time of its making, so those of an earlier feed are
/// never taken for its own.
class Feed {
 public:
  explicit Feed(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  bool stopped() const { return shared_->stopped; }
  Shared& shared() const { return *shared_; }

  void add(std::string_view event, const json& data) {
    const std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
    std::vector<std::function<void()>> waiting;
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(
          std::make_shared<const std::string>(fmt::format("id: {}\nevent: {}\ndata: {}\n\n", end(), event, text)));
      if (events_.size() > Hub::kEventsKept) {
        events_.pop_front();
        ++first_;
      }
      waiting.swap(waiting_);
    }
    for (const auto& wake : waiting) wake();
  }

  /// Whether these are the first that wait to be told.
  bool gather(std::span<const catalog::KeyedPoint> points) {
    const std::lock_guard lock(mutex_);
    const bool first = gathered_.empty();
    for (const auto& point : points) {
      if (gathered_count_ == Hub::kPointsPerEventMax) {
        overflow_ = true;
        break;
      }
      gathered_[point.key].push_back(point.point);
      ++gathered_count_;
    }
    return first;
  }

  void tell_gathered() {
    std::map<std::string, std::vector<catalog::Point>> gathered;
    bool overflow = false;
    {
      const std::lock_guard lock(mutex_);
      gathered.swap(gathered_);
      std::swap(overflow, overflow_);
      gathered_count_ = 0;
    }
    if (overflow) return add("reset", json::object());
    if (gathered.empty()) return;
    json keys = json::object();
    for (const auto& [key, points] : gathered) {
      json& list = keys[key] = json::array();
      for (const auto& point : points) list.push_back({point.step, point.time_ms, http::number_json(point.value)});
    }
    add("points", keys);
  }

  void wake_all() {
    std::vector<std::function<void()>> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (const auto& wake : waiting) wake();
  }

  int64_t enter(int64_t after) {
    const std::lock_guard lock(mutex_);
    ++subscribers_;
    ++shared_->subscribers;
    if (after == 0) return end();
    return after + 1 >= first_ && after < end() ? after + 1 : 0;  // 0: to be reset
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --subscribers_;
    --shared_->subscribers;
    left_ms_ = now_ms();
  }
  bool forgotten(int64_t before_ms) const {
    const std::lock_guard lock(mutex_);
    return subscribers_ == 0 && left_ms_ < before_ms;
  }

  std::vector<std::shared_ptr<const std::string>> take(int64_t& next) {
    static const auto kReset = std::make_shared<const std::string>("event: reset\ndata: {}\n\n");
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const std::string>> taken;
    if (next < first_) {
      taken.push_back(kReset);
      next = end();
    }
    for (; next < end(); ++next) taken.push_back(events_[static_cast<size_t>(next - first_)]);
    return taken;
  }

  void wait(int64_t next, std::function<void()> wake) {
    {
      const std::lock_guard lock(mutex_);
      if (next >= first_ && next == end()) return waiting_.push_back(std::move(wake));
    }
    wake();
  }

 private:
  int64_t end() const { return first_ + static_cast<int64_t>(events_.size()); }

  mutable std::mutex mutex_;
  int64_t first_ = now_ms();  // number of the first event kept
  std::deque<std::shared_ptr<const std::string>> events_;
  std::vector<std::function<void()>> waiting_;
  std::map<std::string, std::vector<catalog::Point>> gathered_;
  size_t gathered_count_ = 0;
  bool overflow_ = false;
  int64_t subscribers_ = 0, left_ms_ = now_ms();
  std::shared_ptr<Shared> shared_;
};

Subscription::Subscription(std::shared_ptr<Feed> feed, int64_t after, Pass pass)
    : feed_(std::move(feed)), next_(feed_->enter(after)), pass_(std::move(pass)) {
  const auto is_his = [this](const Subscription* one) { return one->pass().user == pass_.user; };
  {
    const std::lock_guard lock(feed_->shared().mutex);
    auto& all = feed_->shared().all;
    if (std::count_if(all.begin(), all.end(), is_his) < Hub::kStreamsOfOneMax) {
      all.insert(this);
      return;
    }
  }
  feed_->leave();
  throw Refusal(RefusalKind::kLimit, fmt::format("[events] {} streams of yours are open, which are the most; end some",
                                                 Hub::kStreamsOfOneMax));
}

Subscription::~Subscription() {
  {
    const std::lock_guard lock(feed_->shared().mutex);
    feed_->shared().all.erase(this);
  }
  feed_->leave();
}

std::vector<std::shared_ptr<const std::string>> Subscription::take() {
  if (ended()) return {};
  return feed_->take(next_);
}

void Subscription::wait(std::function<void()> wake) {
  feed_->wait(next_, std::move(wake));
}

bool Subscription::ended() const {
  return feed_->stopped() || withdrawn_ || (pass_.until_ms != 0 && pass_.until_ms <= now_ms());
}

class Hub::Implementation {
 public:
  Implementation() : thread_([this] { run(); }) {}
  ~Implementation() {
    stop();
    thread_.join();
  }

  std::shared_ptr<Feed> watched(const std::string& run) {
    if (feeds_count_.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = feeds_.find(run);
    return found == feeds_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Feed> feed(const std::string& run) {
    const std::lock_guard lock(mutex_);
    auto& feed = feeds_[run];
    if (!feed) feed = std::make_shared<Feed>(shared_);
    feeds_count_ = feeds_.size();
    return feed;
  }

  void gathering(std::shared_ptr<Feed> feed) {
    const std::lock_guard lock(mutex_);
    gathering_.push_back(std::move(feed));
    changed_.notify_one();
  }

  void withdraw(const std::function<bool(const Pass&)>& is_over) {
    {
      const std::lock_guard all(shared_->mutex);
      for (Subscription* const one : shared_->all)
        if (is_over(one->pass())) one->end();
    }
    std::unique_lock lock(mutex_);
    wake_all(lock);
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    shared_->stopped = true;
    changed_.notify_one();
  }

  void listen(std::function<void(const std::string&)> heard) {
    const std::unique_lock lock(listening_);
    heard_ = std::move(heard);
  }

  void tell_listener(const std::string& run) {
    const std::shared_lock lock(listening_);
    if (heard_) heard_(run);
  }

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();

 private:
  void run() {
    auto heartbeat = std::chrono::steady_clock::now() + std::chrono::milliseconds(kHeartbeatMs);
    std::unique_lock lock(mutex_);
    while (!shared_->stopped) {
      changed_.wait_until(lock, heartbeat, [&] { return shared_->stopped || !gathering_.empty(); });
      if (!gathering_.empty() && !shared_->stopped) {
        changed_.wait_for(lock, std::chrono::milliseconds(kGatheringMs), [&] { return shared_->stopped.load(); });
        const auto gathering = std::exchange(gathering_, {});
        lock.unlock();
        for (const auto& feed : gathering) feed->tell_gathered();
        lock.lock();
      }
      if (std::chrono::steady_clock::now() < heartbeat) continue;
      heartbeat += std::chrono::milliseconds(kHeartbeatMs);
      std::erase_if(feeds_, [&](const auto& item) { return item.second->forgotten(now_ms() - 4 * kHeartbeatMs); });
      feeds_count_ = feeds_.size();
      wake_all(lock);
    }
    wake_all(lock);
  }

  void wake_all(std::unique_lock<std::mutex>& lock) {
    std::vector<std::shared_ptr<Feed>> feeds;
    for (const auto& [run, feed] : feeds_) feeds.push_back(feed);
    lock.unlock();
    for (const auto& feed : feeds) feed->wake_all();
    lock.lock();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Feed>> feeds_;
  std::atomic<size_t> feeds_count_ = 0;
  std::vector<std::shared_ptr<Feed>> gathering_;
  std::shared_mutex listening_;
  std::function<void(const std::string&)> heard_;
  std::thread thread_;
};

Hub::Hub() : implementation_(std::make_unique<Implementation>()) {}
Hub::~Hub() = default;

void Hub::listen(std::function<void(const std::string& run)> heard) {
  implementation_->listen(std::move(heard));
}

void Hub::publish(const std::string& run, std::string_view event, const json& data) {
  if (event == "state") implementation_->tell_listener(run);
  if (const auto feed = implementation_->watched(run)) {
    feed->tell_gathered();  // in the order in which it happened
    feed->add(event, data);
  }
}

void Hub::publish_points(const std::string& run, std::span<const catalog::KeyedPoint> points) {
  if (points.empty()) return;
  implementation_->tell_listener(run);
  if (auto feed = implementation_->watched(run); feed && feed->gather(points))
    implementation_->gathering(std::move(feed));
}

std::shared_ptr<Subscription> Hub::subscribe(const std::string& run, int64_t after, Pass pass) {
  if (subscribers() >= kSubscribersMax)
    throw Refusal(RefusalKind::kLimit,
                  fmt::format("[events] {} clients watch runs already; try later", kSubscribersMax));
  return std::make_shared<Subscription>(implementation_->feed(run), after, std::move(pass));
}

int64_t Hub::subscribers() const {
  return implementation_->shared_->subscribers;
}

void Hub::withdraw(const std::function<bool(const Pass&)>& is_over) {
  implementation_->withdraw(is_over);
}

void Hub::stop() {
  implementation_->stop();
}

}  // namespace linac::service
