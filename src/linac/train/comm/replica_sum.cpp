#include "linac/train/comm/replica_sum.h"

#include <algorithm>
#include <numeric>

#include "linac/base/base/error.h"

namespace linac::comm {
namespace {

// Each level has a tag of its own for either way.
constexpr int kCollectTag = 1, kDistributeTag = 100;

// What is on its way at a time. It bounds the memory for what comes in, and what all workers send to one at once: more
// than the queue of its port in a switch is lost, and TCP waits 0.2 s before it sends that again. In levels few send to
// one, so TCP has enough under way from each to find what is lost; and each chunk costs more messages.
constexpr size_t kChunkFloats = size_t{1} << 18, kChunkFloatsInLevels = size_t{1} << 21;
// What a core adds up at a time stays in its cache.
constexpr size_t kCachedFloats = size_t{1} << 14;

void add(std::span<float> left, std::span<const float> right) {
  float* const __restrict sum = left.data();
  const float* const __restrict other = right.data();
  for (size_t i = 0; i < left.size(); ++i) sum[i] += other[i];
}

std::vector<ReplicaRange> ranges_of(const View& view, int replicas) {
  std::vector<ReplicaRange> ranges;
  for (int rank = 0; rank < view.size(); ++rank) ranges.push_back(replicas_of(view, rank, replicas));
  return ranges;
}

}  // namespace

std::vector<int> owned_replicas(int replicas, const View& view, int rank) {
  const auto [begin, end] = replicas_of(view, rank, replicas);
  std::vector<int> owned(static_cast<size_t>(end - begin));
  std::iota(owned.begin(), owned.end(), begin);
  return owned;
}

ReplicaSum::ReplicaSum(Group& group, int replicas, SumCut cut)
    : ReplicaSum(group, ranges_of(group.view(), replicas), replicas, std::move(cut)) {}

ReplicaSum::ReplicaSum(Group& group, const std::vector<ReplicaRange>& ranges, int replicas, SumCut cut)
    : group_(group), replicas_(replicas), cut_(std::move(cut)) {
  LINAC_CHECK(replicas >= 1 && ranges.size() == static_cast<size_t>(group.size()));
  levels_ = cut_.groups ? make_sum_levels(ranges, replicas, *cut_.groups) : sum_levels_by_rule(ranges, replicas);
  if (cut_.chunk_floats == 0) cut_.chunk_floats = levels_.size() == 1 ? kChunkFloats : kChunkFloatsInLevels;
  received_.resize(levels_.size());
  int member = group.rank();
  for (const SumLevel& level : levels_) {
    const int own = level.group_of(member);
    places_.push_back({member, own, level.begins[static_cast<size_t>(own)], level.size_of(own)});
    member = own;
  }
  const ReplicaRange owned = levels_[0].ranges[static_cast<size_t>(group.rank())];
  first_owned_ = owned.begin;
  owned_end_ = owned.end;
}

void ReplicaSum::reduce(std::span<const std::span<float>> owned_buffers, std::span<float> result, Exchange exchange) {
  exchange_ = exchange;
  LINAC_CHECK(owned_buffers.size() == static_cast<size_t>(owned_end_ - first_owned_));
  for (const auto& buffer : owned_buffers) LINAC_CHECK(buffer.size() == result.size());
  for (size_t offset = 0; offset < result.size(); offset += cut_.chunk_floats) {
    const size_t count = std::min(cut_.chunk_floats, result.size() - offset);
    std::vector<std::span<float>> chunk, roots;
    for (const auto& buffer : owned_buffers) chunk.push_back(buffer.subspan(offset, count));
    add_owned(chunk);
    for (const ReplicaRange& root : own_roots()) roots.push_back(chunk[static_cast<size_t>(root.begin - first_owned_)]);
    reduce_chunk(roots, result.subspan(offset, count));
  }
}

void ReplicaSum::reduce_roots(std::span<const std::span<float>> roots, std::span<float> result, Exchange exchange) {
  exchange_ = exchange;
  LINAC_CHECK(roots.size() == own_roots().size());
  for (const auto& root : roots) LINAC_CHECK(root.size() == result.size());
  for (size_t offset = 0; offset < result.size(); offset += cut_.chunk_floats) {
    const size_t count = std::min(cut_.chunk_floats, result.size() - offset);
    std::vector<std::span<float>> chunk;
    for (const auto& root : roots) chunk.push_back(root.subspan(offset, count));
    reduce_chunk(chunk, result.subspan(offset, count));
  }
}

// Leaves the sum of each of this rank's subtrees in the buffer of its first replica.
void ReplicaSum::add_owned(std::span<const std::span<float>> buffers) {
  const size_t size = buffers.empty() ? 0 : buffers[0].size();
  for (size_t offset = 0; offset < size; offset += kCachedFloats) {
    const size_t count = std::min(kCachedFloats, size - offset);
    std::vector<std::span<float>> cached;
    for (const auto& buffer : buffers) round_to(exchange_, cached.emplace_back(buffer.subspan(offset, count)));
    for (const ReplicaRange& root : own_roots()) add_owned(root.begin, root.end, cached);
  }
}

void ReplicaSum::reduce_chunk(std::span<const std::span<float>> roots, std::span<float> result) {
  Task whole{.slice = {0, result.size()}, .ranks = std::vector<int>(static_cast<size_t>(group_.size())), .roots = {}};
  std::iota(whole.ranks.begin(), whole.ranks.end(), 0);
  whole.roots.assign(roots.begin(), roots.end());
  std::vector<std::vector<Task>> tasks{{std::move(whole)}};
  for (size_t number = 0; number < levels_.size(); ++number) tasks.push_back(collect(number, tasks[number]));
  for (const Task& task : tasks.back())
    std::copy(task.roots[0].begin(), task.roots[0].end(),
              result.begin() + static_cast<std::ptrdiff_t>(task.slice.begin));
  for (size_t number = levels_.size(); number-- > 0;) distribute(number, tasks[number], result);
}

// Leaves the sum of replicas [begin, end), all owned, in the buffer of `begin`.
void ReplicaSum::add_owned(int begin, int end, std::span<const std::span<float>> buffers) {
  if (end - begin < 2) return;
  const int middle = middle_of(begin, end);
  add_owned(begin, middle, buffers);
  add_owned(middle, end, buffers);
  const std::span<float> sum = buffers[static_cast<size_t>(begin - first_owned_)];
  add(sum, buffers[static_cast<size_t>(middle - first_owned_)]);
  round_to(exchange_, sum);
}

int ReplicaSum::parts_of(const SumLevel& level, const Slice& slice) const {
  return static_cast<int>(std::clamp<size_t>(slice.size / cut_.part_floats, 1, static_cast<size_t>(level.parts)));
}

// The parts [first, end).
ReplicaSum::Slice ReplicaSum::part_of(const Slice& slice, int parts, int first, int end) {
  const auto cut = [&](int part) { return static_cast<size_t>(part) * slice.size / static_cast<size_t>(parts); };
  return {slice.begin + cut(first), cut(end) - cut(first)};
}

// What the member of this number in the group adds up for it.
ReplicaSum::Slice ReplicaSum::held_by(const SumLevel& level, const Place& place, const Slice& slice, int member) const {
  const int parts = parts_of(level, slice);
  return part_of(slice, parts, first_part_of(member, parts, place.size), first_part_of(member + 1, parts, place.size));
}

// A level on the way up: every member's part of every root goes there. The tasks of the next one, with the roots of
// this worker's group.
std::vector<ReplicaSum::Task> ReplicaSum::collect(size_t number, const std::vector<Task>& tasks) {
  const SumLevel& level = levels_[number];
  const Place& place = places_[number];
  const std::vector<std::vector<std::span<float>>> roots = receive_roots(number, tasks);
  const ReplicaRange range{level.ranges[static_cast<size_t>(place.begin)].begin,
                           level.ranges[static_cast<size_t>(place.begin + place.size - 1)].end};
  std::vector<Task> next;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (held_by(level, place, tasks[i].slice, place.member - place.begin).size == 0) continue;
    std::vector<std::span<float>> at_root(static_cast<size_t>(replicas_));
    size_t at = 0;
    for (int member = place.begin; member < place.begin + place.size; ++member) {
      for (const ReplicaRange& root : level.roots[static_cast<size_t>(member)])
        at_root[static_cast<size_t>(root.begin)] = roots[i][at++];
    }
    std::vector<std::span<float>> sums;
    for (const ReplicaRange& sum : subtrees_in(range, replicas_))
      sums.push_back(add_roots(level, sum.begin, sum.end, at_root));
    hand_on(level, place, tasks[i], sums, next);
  }
  return next;
}

// Of each task what this worker holds of all roots of its group, by member and root.
std::vector<std::vector<std::span<float>>> ReplicaSum::receive_roots(size_t number, const std::vector<Task>& tasks) {
  const SumLevel& level = levels_[number];
  const Place& place = places_[number];
  const int me = place.member - place.begin;
  size_t others = 0, held = 0;  // roots; floats of one of each task
  for (int i = 0; i < place.size; ++i) others += i == me ? 0 : level.roots[static_cast<size_t>(place.begin + i)].size();
  for (const Task& task : tasks) held += held_by(level, place, task.slice, me).size;
  std::vector<float>& received = received_[number];
  received.resize(others * held);
  std::vector<std::vector<std::span<float>>> found;
  size_t next = 0;
  for (const Task& task : tasks) {
    const Slice mine = held_by(level, place, task.slice, me);
    auto& roots = found.emplace_back();
    for (int i = 0; i < place.size; ++i) {
      const auto member = static_cast<size_t>(place.begin + i);
      const Slice its = held_by(level, place, task.slice, i);
      if (i == me) {
        for (const auto& root : task.roots) roots.push_back(root.subspan(mine.begin - task.slice.begin, mine.size));
        continue;
      }
      for (const auto& root : task.roots)
        parcels_.send(task.ranks[member], root.subspan(its.begin - task.slice.begin, its.size));
      for (size_t root = 0; root < level.roots[member].size(); ++root, next += mine.size) {
        roots.push_back(std::span(received).subspan(next, mine.size));
        parcels_.receive(task.ranks[member], roots.back());
      }
    }
  }
  parcels_.exchange(group_, exchange_, kCollectTag + static_cast<int>(number));
  return found;
}

// The sum of the roots below [begin, end), in place of the first one.
std::span<float> ReplicaSum::add_roots(const SumLevel& level, int begin, int end,
                                       std::span<const std::span<float>> at_root) const {
  const auto owner = std::upper_bound(level.ranges.begin(), level.ranges.end(), begin,
                                      [](int replica, const ReplicaRange& range) { return replica < range.end; });
  if (end <= owner->end) return at_root[static_cast<size_t>(begin)];
  const int middle = middle_of(begin, end);
  const auto left = add_roots(level, begin, middle, at_root), right = add_roots(level, middle, end, at_root);
  add(left, right);
  round_to(exchange_, left);
  return left;
}

// The parts that this worker holds of a task go on, each with those who hold it in the other groups.
void ReplicaSum::hand_on(const SumLevel& level, const Place& place, const Task& task,
                         std::span<const std::span<float>> sums, std::vector<Task>& next) const {
  const int parts = parts_of(level, task.slice), me = place.member - place.begin;
  const int first = first_part_of(me, parts, place.size), end = first_part_of(me + 1, parts, place.size);
  const size_t before = next.size();
  for (int part = first; part < end; ++part) {
    std::vector<int> ranks;
    for (int group = 0; group < level.groups(); ++group) {
      const int holder = level.begins[static_cast<size_t>(group)] + holder_of(part, parts, level.size_of(group));
      ranks.push_back(task.ranks[static_cast<size_t>(holder)]);
    }
    const Slice slice = part_of(task.slice, parts, part, part + 1);
    if (next.size() > before && next.back().ranks == ranks)
      next.back().slice.size += slice.size;
    else
      next.push_back({slice, std::move(ranks), {}});
  }
  const size_t begin = part_of(task.slice, parts, first, end).begin;
  for (size_t i = before; i < next.size(); ++i) {
    for (const auto& sum : sums) next[i].roots.push_back(sum.subspan(next[i].slice.begin - begin, next[i].slice.size));
  }
}

// A level on the way back: who holds a part of the whole sum gives it to its group.
void ReplicaSum::distribute(size_t number, const std::vector<Task>& tasks, std::span<float> result) {
  const SumLevel& level = levels_[number];
  const Place& place = places_[number];
  const int me = place.member - place.begin;
  for (const Task& task : tasks) {
    const Slice mine = held_by(level, place, task.slice, me);
    for (int i = 0; i < place.size; ++i) {
      if (i == me) continue;
      const int rank = task.ranks[static_cast<size_t>(place.begin + i)];
      const Slice its = held_by(level, place, task.slice, i);
      parcels_.send(rank, result.subspan(mine.begin, mine.size));
      parcels_.receive(rank, result.subspan(its.begin, its.size));
    }
  }
  parcels_.exchange(group_, exchange_, kDistributeTag + static_cast<int>(number));
}

void tree_sum(std::span<const std::span<const float>> buffers, std::span<float> result, Exchange exchange) {
  LINAC_CHECK(!buffers.empty());
  if (buffers.size() == 1) {
    LINAC_CHECK(buffers[0].size() == result.size());
    std::copy(buffers[0].begin(), buffers[0].end(), result.begin());
    return round_to(exchange, result);
  }
  const auto split = static_cast<size_t>(middle_of(0, static_cast<int>(buffers.size())));
  std::vector<float> right(result.size());
  tree_sum(buffers.first(split), result, exchange);
  tree_sum(buffers.subspan(split), right, exchange);
  add(result, right);
  round_to(exchange, result);
}

}  // namespace linac::comm
