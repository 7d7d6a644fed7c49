#pragma once
// Counts of what the service has done, for /metrics. Thread-safe.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace linac::service {

class Traffic {
 public:
  void answered(const std::string& route, int status, double seconds);

  std::atomic<int64_t> connections = 0, connections_total = 0, points_total = 0, bytes_received_total = 0;
  std::atomic<int64_t> refused_connections_total = 0, failed_logins_total = 0;

  /// In Prometheus's text format.
  std::string text() const;

  static constexpr std::array<double, 10> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 10};  // s

 private:
  struct Histogram {
    std::array<int64_t, kBounds.size() + 1> counts{};
    double sum = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answers_;
  std::map<std::string, Histogram> latencies_;
};

}  // namespace linac::service
