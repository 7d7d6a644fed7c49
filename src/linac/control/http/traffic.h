#pragma once
// Counts of what a server has done, for /metrics, and whether it stops. Thread-safe.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace linac::http {

/// One number with its lines of help and type, in Prometheus's text format.
std::string prometheus_line(const char* name, const char* type, const char* help, int64_t value);

class Traffic {
 public:
  void answered(const std::string& route, int status, double seconds);

  std::atomic<int64_t> connections = 0, connections_total = 0, refused_connections_total = 0;
  std::atomic<int64_t> bytes_received_total = 0;
  std::atomic<bool> large = false;     // a body of more than kLargeBytes, since memory was given back last
  std::atomic<bool> stopping = false;  // the server takes nothing more, and handlers shall come to their end

  std::string text() const;  // in Prometheus's text format

  static constexpr size_t kLargeBytes = 256 * 1024;
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

}  // namespace linac::http
