#include "linac/base/plan/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <regex>

#include "linac/base/base/error.h"

namespace linac::plan {
namespace {

// As train/comm/sum_levels.cpp, train/comm/replica_sum.cpp and train/comm/transport/tcp_channel.cpp have them.
constexpr int kOneLevelHosts = 32, kGroupHosts = 12;
constexpr double kPartBytesMin = 16384, kChunkBytes = 1048576, kChunkBytesInLevels = 8 * kChunkBytes;
constexpr double kBytesAThread = 262144;

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

// A level of a chunk; `bytes` becomes what is left for the next one.
double level_s(double& bytes, int group, int sums, const Link& link) {
  const double others = group - 1;
  const double parts = std::clamp(std::floor(bytes / kPartBytesMin), 1.0, static_cast<double>(group));
  const double part = bytes / parts, messages = others + parts - 1;
  // Of a round: what comes in and what goes out.
  const double wanted = std::floor(2 * others * part / kBytesAThread);
  const double threads = std::clamp(wanted, 1.0, static_cast<double>(link.threads));
  const double byte_s = std::max(1 / link.bytes_per_s, link.byte_s / threads);
  bytes = part;
  return 2 * (link.latency_s + messages * link.message_s / threads) + (sums + 1) * others * part * byte_s +
         sums * others * part * link.add_s;
}

}  // namespace

Link parse_link(const std::string& text) {
  static const std::regex form(R"(([\d.]+)([kmg])bit((:[\d.]+(ns|us|ms|s)){1,4})(:(\d{1,4}))?)");
  static const std::regex one(R"(:([\d.]+)(ns|us|ms|s))");
  static const std::map<std::string, double> units{{"k", 1e3},   {"m", 1e6},   {"g", 1e9}, {"ns", 1e-9},
                                                   {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  std::smatch parts;
  Link link;
  try {
    if (std::regex_match(text, parts, form)) {
      link.bytes_per_s = std::stod(parts[1]) * units.at(parts[2]) / 8;
      const std::string times = parts[3];
      double* const places[] = {&link.latency_s, &link.message_s, &link.byte_s, &link.add_s};
      size_t place = 0;
      for (std::sregex_iterator next(times.begin(), times.end(), one), end; next != end; ++next)
        *places[place++] = std::stod((*next)[1]) * units.at((*next)[2]);
      if (parts[7].matched) link.threads = std::max(1, std::stoi(parts[7]));
    }
  } catch (const std::logic_error&) {
    parts = {};
  }
  if (parts.empty() || link.bytes_per_s <= 0) {
    throw user_error(
        fmt::format("[plan] '{}' is no link; write rate:latency, and behind it what is known of the cost of a message, "
                    "of a byte and of an addition, and of threads, as 10gbit:50us:10us or "
                    "10gbit:50us:10us:0.9ns:0.05ns:8",
                    text));
  }
  return link;
}

std::vector<int> groups_of(int hosts) {
  int levels = 1;
  while (hosts > kOneLevelHosts && std::pow(kGroupHosts, levels) < hosts) ++levels;
  std::vector<int> groups;
  for (int left = levels, members = hosts; left > 0; --left) {
    const int count = static_cast<int>(std::lround(std::pow(members, (left - 1.0) / left)));
    groups.push_back((members + count - 1) / count);
    members = count;
  }
  return groups;
}

int sums_of_a_host(int hosts, int replicas) {
  std::vector<int> sums(static_cast<size_t>(hosts), 0);
  count_sums(0, hosts * replicas, replicas, sums);
  return *std::max_element(sums.begin(), sums.end());
}

double exchange_s(double bytes, int hosts, int replicas, const Link& link) {
  if (hosts == 1) return 0;
  const std::vector<int> groups = groups_of(hosts);
  const double chunk_bytes = groups.size() == 1 ? kChunkBytes : kChunkBytesInLevels;
  double seconds = 0;
  for (double left = bytes; left > 0; left -= chunk_bytes) {
    double here = std::min(left, chunk_bytes);
    for (size_t level = 0; level < groups.size(); ++level)
      seconds += level_s(here, groups[level], level == 0 ? sums_of_a_host(hosts, replicas) : 1, link);
  }
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
    found.exposed_s += exposed_s(update, hosts, step.replicas, link) / update.every;
    for (const Bucket& bucket : update.buckets)
      found.sent_bytes += bucket.bytes * each_way * (hosts - 1) / update.every;
  }
  found.step_s = step.compute_s + found.exposed_s;
  found.efficiency = step.compute_s / found.step_s;
  return found;
}

}  // namespace linac::plan
