#include "linac/comm/replica_sum.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "linac/base/bfloat16.h"
#include "linac/base/error.h"

namespace linac::comm {
namespace {

constexpr int kCollectTag = 1, kDistributeTag = 2;

// What is on its way at a time. It bounds the memory for what comes in, and what all workers send to one at once: more
// than the queue of its port in a switch is lost, and TCP waits 0.2 s before it sends that again.
constexpr size_t kChunkFloats = size_t{1} << 18;
// A part is worth a message of its own from 16 KiB on.
constexpr size_t kMinPartFloats = size_t{1} << 12;
// What a core adds up at a time stays in its cache.
constexpr size_t kCachedFloats = size_t{1} << 14;

int middle(int begin, int end) {
  return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
}

void add(std::span<float> left, std::span<const float> right) {
  float* const __restrict sum = left.data();
  const float* const __restrict other = right.data();
  for (size_t i = 0; i < left.size(); ++i) sum[i] += other[i];
}

void round_to(Exchange exchange, std::span<float> values) {
  if (exchange == Exchange::kFloat) return;
  for (float& value : values) value = from_bfloat16(to_bfloat16(value));
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
  find_roots(0, replicas);
}

void ReplicaSum::find_roots(int begin, int end) {
  const int owner = owner_[static_cast<size_t>(begin)];
  if (owner_[static_cast<size_t>(end) - 1] == owner) {  // ranges of owners are contiguous
    roots_.push_back({begin, end, owner});
    return;
  }
  const int mid = middle(begin, end);
  find_roots(begin, mid);
  find_roots(mid, end);
}

void ReplicaSum::reduce(std::span<const std::span<float>> owned_buffers, std::span<float> result, Exchange exchange) {
  exchange_ = exchange;
  LINAC_CHECK(owned_buffers.size() == static_cast<size_t>(owned_end_ - first_owned_));
  for (const auto& buffer : owned_buffers) LINAC_CHECK(buffer.size() == result.size());
  const size_t chunk_floats = std::max(kChunkFloats, static_cast<size_t>(group_.size()) * kMinPartFloats);
  for (size_t offset = 0; offset < result.size(); offset += chunk_floats) {
    const size_t count = std::min(chunk_floats, result.size() - offset);
    std::vector<std::span<float>> chunk;
    for (const auto& buffer : owned_buffers) chunk.push_back(buffer.subspan(offset, count));
    reduce_chunk(chunk, result.subspan(offset, count));
  }
}

void ReplicaSum::reduce_chunk(std::span<const std::span<float>> buffers, std::span<float> result) {
  const auto me = static_cast<size_t>(group_.rank());
  for (size_t offset = 0; offset < result.size(); offset += kCachedFloats) {
    const size_t count = std::min(kCachedFloats, result.size() - offset);
    std::vector<std::span<float>> cached;
    for (const auto& buffer : buffers) round_to(exchange_, cached.emplace_back(buffer.subspan(offset, count)));
    for (const Root& root : roots_) {
      if (root.owner == group_.rank()) add_owned(root.begin, root.end, cached);
    }
  }
  if (group_.size() == 1) {
    std::copy(buffers[0].begin(), buffers[0].end(), result.begin());
    return;
  }

  const size_t sites = std::clamp<size_t>(result.size() / kMinPartFloats, 1, static_cast<size_t>(group_.size()));
  std::vector<Part> parts(static_cast<size_t>(group_.size()), Part{0, 0});
  for (size_t p = 0; p < sites; ++p) {
    const size_t begin = p * result.size() / sites;
    parts[p] = {begin, (p + 1) * result.size() / sites - begin};
  }
  collect(parts, buffers);
  if (parts[me].size > 0) {
    std::vector<std::span<float>> at_root(static_cast<size_t>(replicas_));
    size_t next = 0;
    for (const Root& root : roots_) {
      auto& slice = at_root[static_cast<size_t>(root.begin)];
      if (root.owner == group_.rank()) {
        slice = buffers[static_cast<size_t>(root.begin - first_owned_)].subspan(parts[me].begin, parts[me].size);
      } else {
        slice = std::span(received_).subspan(next, parts[me].size);
        next += parts[me].size;
      }
    }
    const auto sum = add_roots(0, replicas_, at_root);
    std::copy(sum.begin(), sum.end(), result.begin() + static_cast<std::ptrdiff_t>(parts[me].begin));
  }
  distribute(parts, result);
}

// Leaves the sum of replicas [begin, end), all owned, in the buffer of `begin`.
void ReplicaSum::add_owned(int begin, int end, std::span<const std::span<float>> buffers) {
  if (end - begin < 2) return;
  const int mid = middle(begin, end);
  add_owned(begin, mid, buffers);
  add_owned(mid, end, buffers);
  const std::span<float> sum = buffers[static_cast<size_t>(begin - first_owned_)];
  add(sum, buffers[static_cast<size_t>(mid - first_owned_)]);
  round_to(exchange_, sum);
}

// Every worker's part of every root goes there. What is received follows the order of the roots.
void ReplicaSum::collect(const std::vector<Part>& parts, std::span<const std::span<float>> buffers) {
  const auto roots_of = [&](int rank) {
    return std::count_if(roots_.begin(), roots_.end(), [&](const Root& root) { return root.owner == rank; });
  };
  const auto mine = static_cast<size_t>(roots_of(group_.rank()));
  std::vector<Sent> sends;
  packed_.resize(mine > 1 ? mine * buffers[0].size() : 0);
  size_t packed = 0;
  for (int rank = 0; rank < group_.size() && mine > 0; ++rank) {
    const Part part = parts[static_cast<size_t>(rank)];
    if (rank == group_.rank() || part.size == 0) continue;
    const size_t begin = packed;
    for (const Root& root : roots_) {
      if (root.owner != group_.rank()) continue;
      const auto slice = buffers[static_cast<size_t>(root.begin - first_owned_)].subspan(part.begin, part.size);
      if (mine == 1) {
        sends.push_back({rank, slice});
      } else {
        std::copy(slice.begin(), slice.end(), packed_.begin() + static_cast<std::ptrdiff_t>(packed));
        packed += part.size;
      }
    }
    if (mine > 1) sends.push_back({rank, std::span(packed_).subspan(begin, packed - begin)});
  }
  const size_t size = parts[static_cast<size_t>(group_.rank())].size;
  received_.resize((roots_.size() - mine) * size);
  std::vector<Due> receives;
  size_t at = 0;
  for (int rank = 0; rank < group_.size() && size > 0; ++rank) {
    const auto count = rank == group_.rank() ? 0 : static_cast<size_t>(roots_of(rank)) * size;
    if (count > 0) receives.push_back({rank, std::span(received_).subspan(at, count)});
    at += count;
  }
  travel(sends, receives, kCollectTag);
}

// The sum of the roots below [begin, end), in place of the first one.
std::span<float> ReplicaSum::add_roots(int begin, int end, std::span<const std::span<float>> at_root) {
  const bool root = owner_[static_cast<size_t>(begin)] == owner_[static_cast<size_t>(end) - 1];
  if (root) return at_root[static_cast<size_t>(begin)];
  const int mid = middle(begin, end);
  const auto left = add_roots(begin, mid, at_root), right = add_roots(mid, end, at_root);
  add(left, right);
  round_to(exchange_, left);
  return left;
}

void ReplicaSum::distribute(const std::vector<Part>& parts, std::span<float> result) {
  std::vector<Sent> sends;
  std::vector<Due> receives;
  const Part mine = parts[static_cast<size_t>(group_.rank())];
  for (int rank = 0; rank < group_.size(); ++rank) {
    const Part part = parts[static_cast<size_t>(rank)];
    if (rank == group_.rank()) continue;
    if (mine.size > 0) sends.push_back({rank, result.subspan(mine.begin, mine.size)});
    if (part.size > 0) receives.push_back({rank, result.subspan(part.begin, part.size)});
  }
  travel(sends, receives, kDistributeTag);
}

// What travels narrow has been rounded before: nothing is lost on the way.
void ReplicaSum::travel(std::span<const Sent> sends, std::span<const Due> receives, int tag) {
  std::vector<Group::Outward> out;
  std::vector<Group::Inward> in;
  if (exchange_ == Exchange::kFloat) {
    for (const Sent& message : sends) out.push_back({message.to, std::as_bytes(message.data)});
    for (const Due& message : receives) in.push_back({message.from, std::as_writable_bytes(message.data)});
    return group_.exchange(out, in, tag);
  }
  const auto total = [](const auto& messages) {
    size_t floats = 0;
    for (const auto& message : messages) floats += message.data.size();
    return floats;
  };
  narrow_out_.resize(total(sends));
  narrow_in_.resize(total(receives));
  size_t at = 0;
  for (const Sent& message : sends) {
    const auto narrow = std::span(narrow_out_).subspan(at, message.data.size());
    std::transform(message.data.begin(), message.data.end(), narrow.begin(), to_bfloat16);
    out.push_back({message.to, std::as_bytes(narrow)});
    at += narrow.size();
  }
  at = 0;
  for (const Due& message : receives) {
    in.push_back({message.from, std::as_writable_bytes(std::span(narrow_in_).subspan(at, message.data.size()))});
    at += message.data.size();
  }
  group_.exchange(out, in, tag);
  at = 0;
  for (const Due& message : receives) {
    const auto narrow = std::span(narrow_in_).subspan(at, message.data.size());
    std::transform(narrow.begin(), narrow.end(), message.data.begin(), from_bfloat16);
    at += narrow.size();
  }
}

void tree_sum(std::span<const std::span<const float>> buffers, std::span<float> result, Exchange exchange) {
  LINAC_CHECK(!buffers.empty());
  if (buffers.size() == 1) {
    LINAC_CHECK(buffers[0].size() == result.size());
    std::copy(buffers[0].begin(), buffers[0].end(), result.begin());
    return round_to(exchange, result);
  }
  const auto split = static_cast<size_t>(middle(0, static_cast<int>(buffers.size())));
  std::vector<float> right(result.size());
  tree_sum(buffers.first(split), result, exchange);
  tree_sum(buffers.subspan(split), right, exchange);
  add(result, right);
  round_to(exchange, result);
}

}  // namespace linac::comm
