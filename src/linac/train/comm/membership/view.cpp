#include "linac/train/comm/membership/view.h"

#include <fmt/format.h>

#include <algorithm>

namespace linac::comm {

int View::rank_of(uint64_t key) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

int View::source() const {
  const auto latest = std::max_element(members.begin(), members.end(),
                                       [](const Member& a, const Member& b) { return a.moment < b.moment; });
  return static_cast<int>(latest - members.begin());
}

bool View::needs_state() const {
  return std::any_of(members.begin(), members.end(),
                     [&](const Member& m) { return m.moment != members.front().moment; });
}

void to_json(nlohmann::json& json, const Moment& moment) {
  json = {moment.rollbacks, moment.steps, moment.epochs};
}

void from_json(const nlohmann::json& json, Moment& moment) {
  moment = {json.at(0), json.at(1), json.at(2)};
}

void to_json(nlohmann::json& json, const Member& member) {
  json = {{"seniority", member.seniority}, {"key", member.key}, {"address", member.address},
          {"host", member.host},           {"pid", member.pid}, {"moment", member.moment},
          {"share", member.share}};
  if (!member.ledger.empty()) json["ledger"] = member.ledger;
}

void from_json(const nlohmann::json& json, Member& member) {
  member = {json.at("seniority"), json.at("key"),          json.at("address"),
            json.at("host"),      json.at("pid"),          json.at("moment").get<Moment>(),
            json.at("share"),     json.value("ledger", "")};
}

void to_json(nlohmann::json& json, const View& view) {
  json = {{"number", view.number},       {"proposer", view.proposer},
          {"members", view.members},     {"next_seniority", view.next_seniority},
          {"fruitless", view.fruitless}, {"idle", view.idle}};
}

void from_json(const nlohmann::json& json, View& view) {
  view = {json.at("number"),         json.at("proposer"),  json.at("members").get<std::vector<Member>>(),
          json.at("next_seniority"), json.at("fruitless"), json.value("idle", 0)};
}

ReplicaRange replicas_of(const View& view, int rank, int replicas) {
  int total = 0, before = 0;
  for (int i = 0; i < view.size(); ++i) {
    if (i == rank) before = total;
    total += view.members[static_cast<size_t>(i)].share;
  }
  if (total == replicas) return {before, before + view.members[static_cast<size_t>(rank)].share};
  const int base = replicas / view.size(), extra = replicas % view.size();
  const int begin = rank * base + std::min(rank, extra);
  return {begin, begin + base + (rank < extra ? 1 : 0)};
}

std::vector<int> deal(int replicas, const std::vector<double>& seconds) {
  std::vector<int> shares(seconds.size(), 0);
  for (size_t i = 0; i < shares.size() && static_cast<int>(i) < replicas; ++i) shares[i] = 1;
  for (int left = replicas - static_cast<int>(shares.size()); left > 0; --left) {
    size_t next = 0;  // who would be done soonest with one more
    for (size_t i = 1; i < shares.size(); ++i) {
      if ((shares[i] + 1) * seconds[i] < (shares[next] + 1) * seconds[next]) next = i;
    }
    ++shares[next];
  }
  return shares;
}

std::vector<int> deal_packs(int replicas, int pack, const std::vector<double>& seconds) {
  const int packs = replicas / pack, members = static_cast<int>(seconds.size());
  if (members > replicas) return deal(replicas, seconds);
  if (members <= packs) {
    std::vector<int> shares = deal(packs, seconds);
    for (int& share : shares) share *= pack;
    return shares;
  }
  std::vector<int> shares;
  for (int i = 0; i < packs; ++i) {  // neighbours share a pack
    const auto begin = seconds.begin() + i * members / packs, end = seconds.begin() + (i + 1) * members / packs;
    const std::vector<int> of_pack = deal(pack, {begin, end});
    shares.insert(shares.end(), of_pack.begin(), of_pack.end());
  }
  return shares;
}

double slowest(const std::vector<int>& shares, const std::vector<double>& seconds) {
  double longest = 0;
  for (size_t i = 0; i < shares.size(); ++i) longest = std::max(longest, shares[i] * seconds[i]);
  return longest;
}

std::string describe(const View& view, int rank) {
  const Member& member = view.members.at(static_cast<size_t>(rank));
  return fmt::format("rank {} ({}, process {})", rank, member.host, member.pid);
}

}  // namespace linac::comm
