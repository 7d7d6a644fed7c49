#include "linac/comm/replica_sum.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "linac/base/error.h"

namespace linac::comm {
namespace {

constexpr int kReduceTag = 1;

// Large buffers are summed in pieces of 1 MiB: while one worker sends a piece, another adds the next.
constexpr size_t kPieceFloats = 1 << 18;

int middle(int begin, int end) {
  return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
}

void add(std::span<float> left, std::span<const float> right) {
  float* const __restrict sum = left.data();
  const float* const __restrict other = right.data();
  for (size_t i = 0; i < left.size(); ++i) sum[i] += other[i];
}

}  // namespace

std::vector<int> owned_replicas(int replicas, const View& view, int rank) {
  const auto [begin, end] = replicas_of(view, rank, replicas);
  std::vector<int> owned(static_cast<size_t>(end - begin));
  std::iota(owned.begin(), owned.end(), begin);
  return owned;
}

ReplicaSum::ReplicaSum(Group& group, int replicas) : group_(group), replicas_(replicas), owner_(replicas) {
  LINAC_CHECK(replicas >= 1);
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto [begin, end] = replicas_of(group.view(), rank, replicas);
    std::fill(owner_.begin() + begin, owner_.begin() + end, rank);
    if (rank == group.rank()) {
      first_owned_ = begin;
      owned_end_ = end;
    }
  }
}

void ReplicaSum::reduce(std::span<const std::span<float>> owned_buffers, std::span<float> result) {
  LINAC_CHECK(owned_buffers.size() == static_cast<size_t>(owned_end_ - first_owned_));
  for (const auto& buffer : owned_buffers) LINAC_CHECK(buffer.size() == result.size());
  received_.resize(std::min(kPieceFloats, result.size()));
  for (size_t offset = 0; offset < result.size(); offset += kPieceFloats) {
    reduce_node(0, replicas_, owned_buffers, offset, std::min(kPieceFloats, result.size() - offset));
  }
  if (group_.rank() == 0) std::copy(owned_buffers[0].begin(), owned_buffers[0].end(), result.begin());
  group_.broadcast(result, 0);
}

// Leaves the sum of replicas [begin, end) in the buffer of `begin`, at its owner. Every rank visits its part of the
// same post-order walk, so a send always finds its receive: no two ranks can wait for each other.
void ReplicaSum::reduce_node(int begin, int end, std::span<const std::span<float>> buffers, size_t offset,
                             size_t count) {
  const bool any_mine = begin < owned_end_ && end > first_owned_;
  if (end - begin < 2 || !any_mine) return;
  const int mid = middle(begin, end);
  reduce_node(begin, mid, buffers, offset, count);
  reduce_node(mid, end, buffers, offset, count);

  const int me = group_.rank();
  const auto piece = [&](int replica) { return buffers[replica - first_owned_].subspan(offset, count); };
  if (owner(begin) == me && owner(mid) == me) {
    add(piece(begin), piece(mid));
  } else if (owner(begin) == me) {
    const auto right = std::span(received_).first(count);
    group_.receive(right, owner(mid), kReduceTag);
    add(piece(begin), right);
  } else if (owner(mid) == me) {
    group_.send(piece(mid), owner(begin), kReduceTag);
  }
}

void tree_sum(std::span<const std::span<const float>> buffers, std::span<float> result) {
  LINAC_CHECK(!buffers.empty());
  if (buffers.size() == 1) {
    LINAC_CHECK(buffers[0].size() == result.size());
    std::copy(buffers[0].begin(), buffers[0].end(), result.begin());
    return;
  }
  const auto split = static_cast<size_t>(middle(0, static_cast<int>(buffers.size())));
  std::vector<float> right(result.size());
  tree_sum(buffers.first(split), result);
  tree_sum(buffers.subspan(split), right);
  for (size_t i = 0; i < result.size(); ++i) result[i] += right[i];
}

}  // namespace linac::comm
