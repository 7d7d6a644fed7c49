#include "linac/train/comm/membership/view_change.h"

#include <stdexcept>

namespace linac::comm {
namespace {

// Members of the base at ranks [begin, end), each with this moment and share.
struct Kept {
  size_t begin = 0, end = 0;
  Moment moment;
  int share = 0;
};

bool stays(const Member& before, const Member& now) {
  Member same = before;
  same.moment = now.moment;
  same.share = now.share;
  return same == now;
}

nlohmann::json as_json(const Kept& kept) {
  return {kept.begin, kept.end, kept.moment, kept.share};
}

}  // namespace

nlohmann::json change_of(const View& base, const View& next) {
  nlohmann::json members = nlohmann::json::array();
  Kept kept;
  const auto close = [&] {
    if (kept.end > kept.begin) members.push_back(as_json(kept));
    kept.begin = kept.end;
  };
  size_t rank = 0;  // where to look next: both are in the order of seniority
  for (const Member& member : next.members) {
    while (rank < base.members.size() && base.members[rank].seniority < member.seniority) ++rank;
    if (rank == base.members.size() || !stays(base.members[rank], member)) {
      close();
      members.push_back(member);
      continue;
    }
    if (kept.end != rank || kept.moment != member.moment || kept.share != member.share) {
      close();
      kept = {rank, rank, member.moment, member.share};
    }
    kept.end = ++rank;
  }
  close();
  View rest = next;
  rest.members.clear();
  return {{"of", {base.number, base.proposer}}, {"view", rest}, {"members", members}};
}

View changed(const View& base, const nlohmann::json& change) {
  const auto& of = change.at("of");
  if (of.at(0).get<int64_t>() != base.number || of.at(1).get<uint64_t>() != base.proposer)
    throw std::runtime_error("the change of a view that is not the installed one");
  View view = change.at("view").get<View>();
  if (!view.members.empty()) throw std::runtime_error("a change of a view with members twice");
  size_t next = 0;
  for (const auto& one : change.at("members")) {
    if (one.is_object()) {
      view.members.push_back(one.get<Member>());
      continue;
    }
    const Kept kept{one.at(0), one.at(1), one.at(2).get<Moment>(), one.at(3)};
    if (kept.begin < next || kept.end < kept.begin || kept.end > base.members.size())
      throw std::runtime_error("the change of a view keeps members that it does not have");
    for (next = kept.begin; next < kept.end; ++next) {
      view.members.push_back(base.members[next]);
      view.members.back().moment = kept.moment;
      view.members.back().share = kept.share;
    }
  }
  return view;
}

}  // namespace linac::comm
