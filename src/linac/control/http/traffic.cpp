#include "linac/control/http/traffic.h"

#include <fmt/format.h>

#include <algorithm>

namespace linac::http {

std::string prometheus_line(const char* name, const char* type, const char* help, int64_t value) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

void Traffic::answered(const std::string& route, int status, double seconds) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  const std::lock_guard lock(mutex_);
  ++answers_[{route, status}];
  Histogram& histogram = latencies_[route];
  ++histogram.counts[static_cast<size_t>(bound - kBounds.begin())];
  histogram.sum += seconds;
}

std::string Traffic::text() const {
  std::string text;
  text += prometheus_line("linac_connections", "gauge", "Connections that are open.", connections);
  text += prometheus_line("linac_connections_total", "counter", "Connections so far.", connections_total);
  text += prometheus_line("linac_connections_refused_total", "counter",
                          "Connections closed because there were too many.", refused_connections_total);
  text += prometheus_line("linac_received_bytes_total", "counter", "Bytes of bodies received.", bytes_received_total);

  const std::lock_guard lock(mutex_);
  text += "# HELP linac_requests_total Requests answered.\n# TYPE linac_requests_total counter\n";
  for (const auto& [key, count] : answers_)
    text += fmt::format("linac_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, count);
  text += "# HELP linac_request_seconds Time from a request's last byte to its answer.\n";
  text += "# TYPE linac_request_seconds histogram\n";
  for (const auto& [route, histogram] : latencies_) {
    int64_t below = 0;
    for (size_t i = 0; i < kBounds.size(); ++i) {
      below += histogram.counts[i];
      text += fmt::format("linac_request_seconds_bucket{{route=\"{}\",le=\"{:g}\"}} {}\n", route, kBounds[i], below);
    }
    below += histogram.counts.back();
    text += fmt::format(
        "linac_request_seconds_bucket{{route=\"{0}\",le=\"+Inf\"}} {1}\n"
        "linac_request_seconds_sum{{route=\"{0}\"}} {2:g}\nlinac_request_seconds_count{{route=\"{0}\"}} {1}\n",
        route, below, histogram.sum);
  }
  return text;
}

}  // namespace linac::http
