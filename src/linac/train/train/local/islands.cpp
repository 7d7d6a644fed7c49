#include "linac/train/train/local/islands.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

std::string place_of_rank(const comm::View& view, int rank) {
  const std::string& address = view.members[static_cast<size_t>(rank)].address;
  const size_t slash = address.find('/');
  return slash == std::string::npos ? "" : address.substr(0, slash);
}

std::vector<int> keepers_of_copies(const std::vector<int>& leading, const std::vector<std::string>& places) {
  std::vector<int> keepers;
  std::map<int, int> kept;
  for (size_t i = 0; i < leading.size(); ++i) {
    const std::string& place = places[static_cast<size_t>(leading[i])];
    std::vector<int> others;
    const auto add = [&](int rank) {
      if (places[static_cast<size_t>(rank)] != place) others.push_back(rank);
    };
    for (size_t turn = 1; turn < leading.size(); ++turn) add(leading[(i + turn) % leading.size()]);
    for (int rank = 0; others.empty() && rank < static_cast<int>(places.size()); ++rank) add(rank);
    // Of several with the fewest the first.
    const auto fewest = std::ranges::min_element(others, {}, [&](int rank) { return kept[rank]; });
    keepers.push_back(fewest != others.end() ? *fewest : leading[(i + 1) % leading.size()]);
    ++kept[keepers.back()];
  }
  return keepers;
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
  std::vector<std::string> places;
  for (int one = 0; one < group_.size(); ++one) places.push_back(place_of_rank(group_.view(), one));
  keepers_ = keepers_of_copies(leading_, places);
  copied_bytes_ = 0;
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

std::vector<int> Islands::watched() const {
  std::vector<int> islands;
  for (size_t i = 0; i < keepers_.size(); ++i)
    if (keepers_[i] == group_.rank() && leading_[i] != group_.rank())
      for (int island = led_by_[i].begin; island < led_by_[i].end; ++island) islands.push_back(island);
  return islands;
}

std::vector<float> Islands::watch(std::span<const float> own, size_t floats_of_island) {
  std::vector<float> theirs(watched().size() * floats_of_island);
  std::vector<comm::Group::Outward> sends;
  std::vector<comm::Group::Inward> receives;
  size_t at = 0;
  for (size_t i = 0; i < keepers_.size(); ++i) {
    const int leader = leading_[i], keeper = keepers_[i];
    if (leader == keeper || floats_of_island == 0) continue;
    if (leader == group_.rank()) sends.push_back({keeper, std::as_bytes(own)});
    if (keeper != group_.rank()) continue;
    const size_t floats = static_cast<size_t>(led_by_[i].end - led_by_[i].begin) * floats_of_island;
    receives.push_back({leader, std::as_writable_bytes(std::span(theirs).subspan(at, floats))});
    at += floats;
  }
  if (sends.empty() && receives.empty()) return theirs;
  group_.exchange(sends, receives, kWatchTag);
  for (const comm::Group::Outward& one : sends) copied_bytes_ += static_cast<int64_t>(one.data.size());
  return theirs;
}

}  // namespace linac::train
