// Members that are of no use to each other: who is left out of the next view, though it lives.

#include <fmt/format.h>

#include <algorithm>

#include "linac/train/comm/membership/membership.h"

namespace linac::comm {

// Whether one on board could not reach another in the view that is left.
bool Membership::quarrelled() const {
  return std::any_of(installed_.members.begin(), installed_.members.end(), [&](const Member& member) {
    if (!aboard(member)) return false;
    const uint64_t other = member.key == self_.key ? unreachable_ : peers_.at(member.key).report->unreachable;
    const int rank = installed_.rank_of(other);
    return rank >= 0 && aboard(installed_.members[static_cast<size_t>(rank)]);
  });
}

// The rank with the most complaints by and about it among those on board, the highest of several; none if there are
// none.
std::optional<size_t> Membership::most_cut_off() const {
  std::optional<size_t> found;
  size_t most = 0;
  const auto here = [&](uint64_t key) {
    const int rank = installed_.rank_of(key);
    return rank >= 0 && aboard(installed_.members[static_cast<size_t>(rank)]);
  };
  for (size_t rank = 0; rank < installed_.members.size(); ++rank) {
    const uint64_t key = installed_.members[rank].key;
    std::set<uint64_t> partners;
    for (const auto& [one, other] : complaints_) {
      if (!here(one) || !here(other)) continue;
      if (one == key) partners.insert(other);
      if (other == key) partners.insert(one);
    }
    if (partners.empty() || partners.size() < most) continue;
    most = partners.size();
    found = rank;
  }
  return found;
}

// A connection may fail by chance, because its other end has just left the view; several views in a row do not.
void Membership::expel_the_cut_off(int64_t now) {
  constexpr int kPatientViews = 2;
  if ((stepped() && !quarrelled()) || installed_.idle < kPatientViews) return;
  while (const auto rank = most_cut_off()) {
    const Member member = installed_.members[*rank];
    expel(member, "it cannot exchange data with others of the run", now);
    if (phase_ != Phase::kRegrouping) return;
  }
}

// Who goes on calling but accepts no view does not hear. Who is halted does neither, and may come back.
void Membership::expel_the_deaf(int64_t now) {
  if (!proposed_ || now - proposed_at_ < settings_.silence_ms) return;
  const std::vector<Member> members = proposed_->members;
  for (const Member& member : members) {
    const Peer& one = peer(member.key);
    const auto waits = newcomers_.find(member.key);
    const int64_t heard = waits == newcomers_.end() ? one.heard : waits->second.second;
    if (member.key == self_.key || one.accepted || heard - proposed_at_ < settings_.silence_ms / 2) continue;
    expel(member, "it is heard, and does not hear", now);
  }
}

void Membership::shut_out(uint64_t key, const Failure& why, int64_t now) {
  const int rank = installed_.rank_of(key);
  if ((phase_ != Phase::kRunning && phase_ != Phase::kRegrouping) || rank < 0) return;
  expel(Member(installed_.members[static_cast<size_t>(rank)]), "it computes wrongly, and was shut out", why, now);
}

void Membership::expel(const Member& member, const std::string& why, int64_t now) {
  expel(member, why,
        {static_cast<int>(ErrorCode::kPeerLost),
         fmt::format("[comm] excluded from the run: {}; check the network between {} and the others "
                     "(routes, firewalls), then join again",
                     why, member.host)},
        now);
}

// It counts as one that is silent: whether it ends, nobody knows for certain.
void Membership::expel(const Member& member, const std::string& why, const Failure& told, int64_t now) {
  if (member.key == self_.key) return depart(told);
  send(member.address, with_failure(Message::Type::kExcluded, told));
  expelled_[member.address] = told;
  if (newcomers_.erase(member.key) > 0) proposed_.reset();
  lose(member, Standing::kSilent, why, now);
  peer(member.key).expelled = true;
}

// True if the sender is no member any more, and has been told again.
bool Membership::is_expelled(const Message& message) {
  const auto found = expelled_.find(message.from_address);
  if (found == expelled_.end() || message.type == Message::Type::kLeave) return false;
  send(message.from_address, with_failure(Message::Type::kExcluded, found->second));
  return true;
}

}  // namespace linac::comm
