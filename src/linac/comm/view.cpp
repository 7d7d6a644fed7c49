#include "linac/comm/view.h"

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
          {"host", member.host},           {"pid", member.pid}, {"moment", member.moment}};
}

void from_json(const nlohmann::json& json, Member& member) {
  member = {json.at("seniority"), json.at("key"), json.at("address"),
            json.at("host"),      json.at("pid"), json.at("moment").get<Moment>()};
}

void to_json(nlohmann::json& json, const View& view) {
  json = {{"number", view.number},
          {"proposer", view.proposer},
          {"members", view.members},
          {"next_seniority", view.next_seniority},
          {"fruitless", view.fruitless}};
}

void from_json(const nlohmann::json& json, View& view) {
  view = {json.at("number"), json.at("proposer"), json.at("members").get<std::vector<Member>>(),
          json.at("next_seniority"), json.at("fruitless")};
}

std::string describe(const View& view, int rank) {
  const Member& member = view.members.at(static_cast<size_t>(rank));
  return fmt::format("rank {} ({}, process {})", rank, member.host, member.pid);
}

}  // namespace linac::comm
