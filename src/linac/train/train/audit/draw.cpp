#include "linac/train/train/audit/draw.h"

#include <algorithm>
#include <array>
#include <utility>

#include "linac/base/base/error.h"

namespace linac::train {

bool is_audited(double rate, RngKey key) {
  if (!(rate > 0)) return false;
  key.stream = Stream::kAudit;
  key.lane = key.replica = 0;
  std::array<float, 1> drawn{};
  fill_uniform(key, drawn);
  return static_cast<double>(drawn[0]) < rate;
}

std::optional<std::vector<int>> auditors_of(double rate, RngKey key, const comm::View& view, int replicas) {
  if (!is_audited(rate, key)) return std::nullopt;
  key.stream = Stream::kAudit;
  key.replica = 0;
  key.lane = 1;
  std::array<uint32_t, 2> bits{};
  fill_bits(key, 0, bits);
  const auto draw = [&](size_t i, int choices) { return static_cast<int>(bits[i] % static_cast<uint32_t>(choices)); };

  std::vector<int> carriers, idle;
  int most = 1;
  for (int rank = 0; rank < view.size(); ++rank) {
    const comm::ReplicaRange range = comm::replicas_of(view, rank, replicas);
    carriers.insert(carriers.end(), static_cast<size_t>(range.end - range.begin), rank);
    most = std::max(most, range.end - range.begin);
    if (range.begin == range.end) idle.push_back(rank);
  }
  LINAC_CHECK(std::cmp_equal(carriers.size(), replicas));
  // Far enough that nobody gets a replica of its own, if nobody carries more than half of them.
  const int shift = idle.empty() ? most + draw(0, std::max(1, replicas - 2 * most + 1)) : draw(0, replicas);
  const std::vector<int>& from = idle.empty() ? carriers : idle;
  std::vector<int> auditors;
  for (int replica = 0; replica < replicas; ++replica) {
    const int carrier = carriers[static_cast<size_t>(replica)];
    int auditor = from[static_cast<size_t>(replica + shift) % from.size()];
    if (auditor == carrier && view.size() > 1) auditor = (carrier + 1 + draw(1, view.size() - 1)) % view.size();
    auditors.push_back(auditor);
  }
  return auditors;
}

}  // namespace linac::train
