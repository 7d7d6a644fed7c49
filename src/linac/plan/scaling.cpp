#include "linac/plan/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <regex>

#include "linac/base/error.h"

namespace linac::plan {
namespace {

// As comm/replica_sum.cpp cuts.
constexpr double kPartBytesMin = 16384, kChunkBytes = 1048576;

// Adds to `sums`, by host, the largest subtrees of [begin, end) that one host owns.
void count_sums(int begin, int end, int replicas, std::vector<int>& sums) {
  if (begin / replicas == (end - 1) / replicas) {
    ++sums[static_cast<size_t>(begin / replicas)];
    return;
  }
  const int mid = begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
  count_sums(begin, mid, replicas, sums);
  count_sums(mid, end, replicas, sums);
}

double parts_of(double bytes, int hosts) {
  return std::clamp(std::floor(bytes / kPartBytesMin), 1.0, static_cast<double>(hosts));
}

double chunk_s(double bytes, int hosts, int sums, const Link& link) {
  const double others = hosts - 1, parts = parts_of(bytes, hosts);
  const double messages = others + parts - 1;
  return 2 * (link.latency_s + messages * link.message_s) + (sums + 1) * others * bytes / parts / link.bytes_per_s;
}

}  // namespace

Link parse_link(const std::string& text) {
  static const std::regex form(R"(([\d.]+)([kmg])bit:([\d.]+)(ns|us|ms|s)(:([\d.]+)(ns|us|ms|s))?)");
  static const std::map<std::string, double> units{{"k", 1e3},   {"m", 1e6},   {"g", 1e9}, {"ns", 1e-9},
                                                   {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  std::smatch parts;
  Link link;
  try {
    if (std::regex_match(text, parts, form)) {
      link.bytes_per_s = std::stod(parts[1]) * units.at(parts[2]) / 8;
      link.latency_s = std::stod(parts[3]) * units.at(parts[4]);
      if (parts[5].matched) link.message_s = std::stod(parts[6]) * units.at(parts[7]);
    }
  } catch (const std::logic_error&) {
    parts = {};
  }
  if (parts.empty() || link.bytes_per_s <= 0) {
    throw user_error(
        fmt::format("[plan] '{}' is no link; write rate:latency or rate:latency:message, as 10gbit:50us:10us", text));
  }
  return link;
}

int sums_of_a_host(int hosts, int replicas) {
  std::vector<int> sums(static_cast<size_t>(hosts), 0);
  count_sums(0, hosts * replicas, replicas, sums);
  return *std::max_element(sums.begin(), sums.end());
}

double exchange_s(double bytes, int hosts, int replicas, const Link& link) {
  if (hosts == 1) return 0;
  const int sums = sums_of_a_host(hosts, replicas);
  double seconds = 0;
  const double chunk_bytes = std::max(kChunkBytes, hosts * kPartBytesMin);
  for (double left = bytes; left > 0; left -= chunk_bytes)
    seconds += chunk_s(std::min(left, chunk_bytes), hosts, sums, link);
  return seconds;
}

double exposed_s(const Update& update, int hosts, int replicas, const Link& link) {
  double now = -INFINITY;  // against the end of computing
  for (const Bucket& bucket : update.buckets)
    now = std::max(now, -bucket.left_s) + exchange_s(bucket.bytes, hosts, replicas, link);
  return std::max(0.0, now - update.beside_s);
}

Prediction predict(const Step& step, int hosts, const Link& link) {
  Prediction found;
  found.hosts = hosts;
  const double each_way = hosts == 1 ? 0 : (sums_of_a_host(hosts, step.replicas) + 1) / static_cast<double>(hosts);
  for (const Update& update : step.updates) {
    found.exposed_s += exposed_s(update, hosts, step.replicas, link);
    for (const Bucket& bucket : update.buckets) found.sent_bytes += bucket.bytes * each_way * (hosts - 1);
  }
  found.step_s = step.compute_s + found.exposed_s;
  found.efficiency = step.compute_s / found.step_s;
  return found;
}

}  // namespace linac::plan
