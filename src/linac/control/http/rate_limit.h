#pragma once
// What each caller may have: so many requests a second, with bursts of two seconds' worth, and so many under way.
// Thread-safe.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace linac::http {

class RateLimit {
 public:
  explicit RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}
  using Time = std::chrono::steady_clock::time_point;
  /// Whether `who` may go on; takes one of what is left.
  bool take(const std::string& who, Time now = std::chrono::steady_clock::now());
  /// Whether there is something left, taking nothing.
  bool left(const std::string& who, Time now = std::chrono::steady_clock::now());

  static constexpr size_t kCallersMax = 10000;  // beyond, those that have their whole burst are forgotten

 private:
  struct Bucket {
    double left;
    Time since;
  };
  Bucket& filled(const std::string& who, Time now);

  const double per_second_, burst_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

/// Requests under way, their streams, the bytes of their bodies. Outlives what it gives.
class Shares {
 public:
  explicit Shares(int64_t most_of_one) : most_of_one_(most_of_one) {}
  /// So much for `who`, for as long as it is held; null if that is more than he has left.
  std::shared_ptr<void> take(const std::string& who, int64_t amount = 1);

 private:
  const int64_t most_of_one_;
  std::mutex mutex_;
  std::unordered_map<std::string, int64_t> taken_;
};

}  // namespace linac::http
