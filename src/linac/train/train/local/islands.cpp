#include "linac/train/train/local/islands.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::train {
namespace {

constexpr int kGatherTag = 1, kWatchTag = 2;

comm::ReplicaRange common(const comm::ReplicaRange& one, const comm::ReplicaRange& other) {
  const int begin = std::max(one.begin, other.begin);
  return {begin, std::max(begin, std::min(one.end, other.end))};
}

}  // namespace

std::vector<IslandPlace> places_of_islands(const comm::View& view, int replicas, int islands) {
  const int each = replicas / islands;
  std::vector<IslandPlace> places(static_cast<size_t>(islands));
  for (int rank = 0; rank < view.size(); ++rank) {
    const comm::ReplicaRange range = comm::replicas_of(view, rank, replicas);
    for (int island = 0; island < islands; ++island) {
      const int first = island * each;
      const comm::ReplicaRange part = common(range, {first, first + each});
      const bool listens = range.begin == range.end && island + 1 == islands;
      if (part.begin == part.end && !listens) continue;
      IslandPlace& place = places[static_cast<size_t>(island)];
      place.ranks.push_back(rank);
      place.replicas.push_back(listens ? comm::ReplicaRange{each, each}
                                       : comm::ReplicaRange{part.begin - first, part.end - first});
    }
  }
  return places;
}

Islands::Islands(const job::Job& job, comm::Group& group)
    : job_(job), group_(group), count_(job.train.sync.groups), replicas_(job.train.replicas / job.train.sync.groups) {}

// Groups of workers are made where there is more than one to talk to: all ranks see in the view which these are.
void Islands::enter_view() {
  const int rank = group_.rank();
  places_ = places_of_islands(group_.view(), job_.train.replicas, count_);
  carried_.clear();
  led_.clear();
  groups_.clear();
  scopes_.clear();
  led_by_.clear();
  select_all();
  leading_.clear();
  for (int island = 0; island < count_; ++island) {
    const IslandPlace& place = places_[static_cast<size_t>(island)];
    const int leader = place.ranks.front();
    if (leading_.empty() || leading_.back() != leader) {
      leading_.push_back(leader);
      led_by_.push_back({island, island});
    }
    led_by_.back().end = island + 1;
    const auto mine = std::ranges::find(place.ranks, rank);
    const bool carries = mine != place.ranks.end();
    std::unique_ptr<comm::Group> made;
    if (!is_alone(island))
      made = group_.split(carries ? 0 : comm::Group::kNoColour, rank, fmt::format("group {}", island));
    else if (carries)
      made = comm::make_lone_group();
    groups_.push_back(std::move(made));
    if (!carries) continue;
    carried_.push_back(island);
    if (leader == rank) led_.push_back(island);
    const comm::ReplicaRange range = place.replicas[static_cast<size_t>(mine - place.ranks.begin())];
    std::vector<int> owned;
    for (int i = range.begin; i < range.end; ++i) owned.push_back(island * replicas_ + i);
    comm::Group& group = *groups_.back();
    scopes_.emplace(island, ReplicaScope{&group, std::move(owned), comm::ReplicaSum(group, place.replicas, replicas_)});
  }
  all_.emplace(ReplicaScope{&group_, comm::owned_replicas(job_.train.replicas, group_.view(), rank),
                            comm::ReplicaSum(group_, job_.train.replicas)});
  leaders_.reset();
  among_leaders_.reset();
  if (leading_.size() > 1)
    leaders_ = group_.split(speaks() ? 0 : comm::Group::kNoColour, rank, "leaders of groups");
  else if (speaks())
    leaders_ = comm::make_lone_group();
  if (speaks()) among_leaders_.emplace(*leaders_, led_by_, count_);
}

bool Islands::leads(int island) const {
  return places_[static_cast<size_t>(island)].ranks.front() == group_.rank();
}

ReplicaScope& Islands::scope() {
  return selected_ ? scopes_.at(*selected_) : all_.value();
}

// Who leads no island carries a part of one, and hears from its leader.
void Islands::tell_listeners(std::span<std::byte> bytes) {
  for (const int island : carried_) {
    std::vector<int> ranks;
    for (const int rank : place(island).ranks)
      if (ranks.empty() || std::ranges::find(leading_, rank) == leading_.end()) ranks.push_back(rank);
    if (ranks.size() > 1 && std::ranges::find(ranks, group_.rank()) != ranks.end())
      group_.broadcast_among(ranks, bytes);
  }
}

void Islands::sum(std::span<const std::span<float>> parts, std::span<float> total, comm::Exchange exchange) {
  if (speaks()) among_leaders_->reduce(parts, total, exchange);
  tell_listeners(std::as_writable_bytes(total));
}

void Islands::gather(std::span<const std::vector<std::byte>> parts, std::vector<std::vector<std::byte>>& all) {
  LINAC_CHECK(parts.size() == led_.size());
  const size_t bytes = all.at(0).size();
  for (size_t i = 0; i < led_.size(); ++i) all[static_cast<size_t>(led_[i])] = parts[i];
  const int leaders = speaks() ? leaders_->size() : 0, own = speaks() ? leaders_->rank() : 0;
  for (int turn = 1; turn < leaders; ++turn) {  // in each, every leader sends its parts to another one
    const int to = (own + turn) % leaders, from = (own - turn + leaders) % leaders;
    const comm::ReplicaRange theirs = led_by_[static_cast<size_t>(from)];
    std::vector<std::byte> outward, inward(static_cast<size_t>(theirs.end - theirs.begin) * bytes);
    for (const auto& part : parts) outward.insert(outward.end(), part.begin(), part.end());
    const comm::Group::Outward send{to, outward};
    const comm::Group::Inward receive{from, inward};
    leaders_->exchange({&send, 1}, {&receive, 1}, kGatherTag);
    auto at = inward.cbegin();
    for (int island = theirs.begin; island < theirs.end; ++island, at += static_cast<std::ptrdiff_t>(bytes))
      std::copy_n(at, bytes, all[static_cast<size_t>(island)].begin());
  }
  for (auto& one : all) tell_listeners(one);
}

comm::ReplicaRange Islands::watched() const {
  if (!speaks() || leaders_->size() == 1) return {0, 0};
  return led_by_[static_cast<size_t>((leaders_->rank() + leaders_->size() - 1) % leaders_->size())];
}

std::vector<float> Islands::watch(std::span<const float> own, size_t floats_of_island) {
  const comm::ReplicaRange before = watched();
  std::vector<float> theirs(static_cast<size_t>(before.end - before.begin) * floats_of_island);
  if (theirs.empty()) return theirs;
  const int size = leaders_->size(), rank = leaders_->rank();
  const comm::Group::Outward send{(rank + 1) % size, std::as_bytes(own)};
  const comm::Group::Inward receive{(rank + size - 1) % size, std::as_writable_bytes(std::span(theirs))};
  leaders_->exchange({&send, 1}, {&receive, 1}, kWatchTag);
  return theirs;
}

}  // namespace linac::train
