#include "linac/train/train/exchange/part_teams.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linac/train/comm/replica_sum.h"

namespace linac::train {

struct PartTeams::Team {
  std::unique_ptr<comm::Group> group;  // of the workers; null where this one carries all parts
  std::unique_ptr<graph::PartHub> hub;
};

namespace {

graph::PartHub::Carry carried_by(comm::Group& group) {
  return [&group](std::span<const graph::PartHub::Outward> out, std::span<const graph::PartHub::Inward> in,
                  int64_t count) {
    std::vector<comm::Group::Outward> outward;
    std::vector<comm::Group::Inward> inward;
    for (const auto& one : out) outward.push_back({one.rank, one.data});
    for (const auto& one : in) inward.push_back({one.rank, one.data});
    group.exchange(outward, inward, static_cast<int>(count % comm::Group::kMaxTag));
  };
}

/// The rank that carries each piece.
std::vector<int> carriers(const comm::View& view, int pieces) {
  std::vector<int> ranks(static_cast<size_t>(pieces));
  for (int rank = 0; rank < view.size(); ++rank) {
    const auto range = comm::replicas_of(view, rank, pieces);
    std::fill(ranks.begin() + range.begin, ranks.begin() + range.end, rank);
  }
  return ranks;
}

}  // namespace

PartTeams::PartTeams(const job::Job& job, comm::Group& group) : job_(job), group_(group) {}
PartTeams::~PartTeams() = default;

void PartTeams::take_place() {
  teams_.clear();
  if (parts() == 1) return;
  const std::vector<int> ranks = carriers(group_.view(), job_.train.pieces());
  for (int replica = 0; replica < job_.train.replicas; ++replica) {
    const auto first = ranks.begin() + replica * parts();
    std::vector<int> of_parts(first, first + parts());
    const std::set<int> members(of_parts.begin(), of_parts.end());
    const bool is_here = members.contains(group_.rank());
    std::unique_ptr<comm::Group> group;
    if (members.size() > 1)  // all workers take part in the making of it
      group = group_.split(is_here ? 0 : comm::Group::kNoColour, group_.rank(),
                           fmt::format("parts of replica {}", replica));
    teams_.push_back(is_here ? std::make_unique<Team>() : nullptr);
    if (!is_here) continue;
    Team& here = *teams_.back();
    here.group = std::move(group);
    for (int& rank : of_parts) rank = static_cast<int>(std::distance(members.begin(), members.find(rank)));
    here.hub = std::make_unique<graph::PartHub>(
        of_parts, static_cast<int>(std::distance(members.begin(), members.find(group_.rank()))),
        here.group ? carried_by(*here.group) : graph::PartHub::Carry{});
  }
}

graph::PartLink* PartTeams::link(int piece) {
  return parts() == 1 ? nullptr : &teams_.at(static_cast<size_t>(replica_of(piece)))->hub->link(piece % parts());
}

void PartTeams::begin() {
  for (const auto& team : teams_)
    if (team) team->hub->begin_anew();
}

void PartTeams::give_up(int piece, const std::string& why) {
  if (parts() > 1) teams_.at(static_cast<size_t>(replica_of(piece)))->hub->give_up(why);
}

}  // namespace linac::train
