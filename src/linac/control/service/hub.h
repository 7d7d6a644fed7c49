#pragma once
// Live news of runs for the clients that watch them. What is published about a run is put into words once and handed to
// all its subscribers as the same bytes. Points are gathered for kGatheringMs first, so a fast run costs its clients a
// few events a second. Each run keeps its last kEventsKept events: a client that reconnects with the number of the last
// one it saw gets what it missed; one that is further behind is told to load the run anew (event "reset"). Thread-safe.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "linac/control/catalog/points.h"
#include "linac/control/execution/news.h"
#include "linac/control/http/server/event_stream.h"

namespace linac::service {

class Feed;  // of one run

/// What a client's stream stands on: it ends with any of these, and the client asks anew.
struct Pass {
  std::string user{}, token{}, session{};
  bool of_another = false;  // he watches what is another's, and may because it is shared
  int64_t until_ms = 0;     // of his token or session; 0: no end
};

/// One client's place in a run's news; for one coroutine.
class Subscription : public http::EventSource {
 public:
  Subscription(std::shared_ptr<Feed> feed, int64_t after, Pass pass);
  ~Subscription() override;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  std::vector<std::shared_ptr<const std::string>> take() override;
  void wait(std::function<void()> wake) override;
  bool ended() const override;  // the hub has stopped, or the pass is no longer good
  const Pass& pass() const { return pass_; }
  void end() { withdrawn_ = true; }

 private:
  std::shared_ptr<Feed> feed_;
  int64_t next_;
  const Pass pass_;
  std::atomic<bool> withdrawn_ = false;
};

class Hub : public execution::News {
 public:
  Hub();
  ~Hub() override;

  /// `event` is the kind that a client listens for. Costs nothing if nobody watches the run.
  void publish(const std::string& run, std::string_view event, const nlohmann::json& data) override;
  /// As event "points": {"key": [[step, time_ms, value], ...], ...}, with NaN and infinities as "NaN", "Infinity",
  /// "-Infinity".
  void publish_points(const std::string& run, std::span<const catalog::KeyedPoint> points) override;

  /// `heard` is told of each run whose state or points are published, on the thread that publishes; none: nobody is,
  /// from when this returns on.
  void listen(std::function<void(const std::string& run)> heard);

  /// `after`: number of the last event seen (Last-Event-ID), 0: from now on. kLimit beyond kSubscribersMax, and for a
  /// user beyond kStreamsOfOneMax.
  /// Whether `pass` is good is looked at after it is here, so that no withdrawal comes in between.
  std::shared_ptr<Subscription> subscribe(const std::string& run, int64_t after, Pass pass = {});
  /// Ends the streams with such a pass: rights have changed. After the commit.
  void withdraw(const std::function<bool(const Pass&)>& is_over);
  int64_t subscribers() const;
  /// Ends all streams.
  void stop();

  static constexpr int kGatheringMs = 100, kHeartbeatMs = 15000;
  static constexpr size_t kEventsKept = 512, kPointsPerEventMax = 20000;
  static constexpr int64_t kSubscribersMax = 5000, kStreamsOfOneMax = 128;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace linac::service
