// Processes that are not in the view yet, as both sides see them: who asks to be let in, and the member that it asks.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/train/comm/membership/membership.h"

namespace linac::comm {
namespace {

using Type = Message::Type;

}  // namespace

void Membership::join(const std::vector<std::string>& addresses, int64_t now) {
  contacts_.insert(addresses.begin(), addresses.end());
  contacts_.erase(self_.address);  // that of a member which is gone
  phase_ = Phase::kJoining;
  phase_began_ = now;
}

void Membership::become_newcomer(std::set<std::string> contacts, int64_t now) {
  events_.push_back({MembershipEvent::Kind::kExcluded, "the run went on without this worker; joining it again"});
  contacts_ = std::move(contacts);
  for (const Member& member : others()) contacts_.insert(member.address);
  contacts_.erase(self_.address);
  self_.key = draw_key_();
  moment_ = {};
  installed_ = {};
  accepted_.reset();
  proposed_.reset();
  peers_.clear();
  newcomers_.clear();
  phase_ = Phase::kJoining;
  phase_began_ = now;
  last_attempt_ = now - settings_.retry_ms;
}

// Somebody waits for this process as a member of a view that it has not installed: the promise to it is taken back by
// becoming somebody else.
void Membership::renounce(const std::string& address) {
  const uint64_t former = self_.key;
  self_.key = draw_key_();
  accepted_.reset();
  send(address, request_to_join(self_, former));
}

void Membership::as_newcomer(const Message& message, int64_t now) {
  // Of others that wait to be let in: at an address of a run that is over they would keep each other waiting.
  if (message.type == Type::kJoin) return;
  answered_ = now;
  refused_contacts_.clear();
  all_closed_since_.reset();
  switch (message.type) {
    case Type::kPropose:
      if (message.view->rank_of(self_.key) < 0 || message.view->number < highest_number()) return;
      accepted_ = message.view;
      return send(message.from_address, with_view(Type::kAccept, name_of(*message.view)));
    case Type::kInstall:
      if (const View* const view = meant(*message.view); view != nullptr && view->rank_of(self_.key) >= 0)
        install(View(*view), now);
      return;
    case Type::kCall:
      // From a view that was left behind before this process was.
      if (message.report.installed < latest_view_) return send(message.from_address, plain(Type::kExcluded));
      return renounce(message.from_address);
    case Type::kTryThere:
      if (contacts_.insert(message.address).second) send(message.address, request_to_join(self_));
      return;
    case Type::kEnd:
      return end(message.failure);
    case Type::kExcluded:
      if (message.failure.code != 0) depart(message.failure);
      return;
    default:
      return;
  }
}

void Membership::on_join(const Message& message, int64_t now) {
  const Member& newcomer = *message.member;
  if (message.former != 0) {
    newcomers_.erase(message.former);
    for (const Member& member : others()) {
      if (member.key == message.former) lose(member, Standing::kGone, "it begins anew", now);
    }
  }
  // Who has been in a later view has voted for what followed this one, which may go on: that is no end.
  const Standing standing = message.report.installed > installed_.number ? Standing::kSilent : Standing::kGone;
  for (const Member& member : others()) {
    if (member.address == newcomer.address && member.key != newcomer.key)
      lose(member, standing, "its process has begun anew", now);
  }
  if (installed_.rank_of(newcomer.key) >= 0) {
    return send(message.from_address, with_view(Type::kInstall, installed_));
  }
  if (!leads() && candidate() != nullptr) return send(message.from_address, direction_to(candidate()->address));
  // Nor waits what was at that address before: a view with both would miss one of them for ever.
  std::erase_if(newcomers_, [&](const auto& entry) { return entry.second.first.address == newcomer.address; });
  newcomers_[newcomer.key] = {newcomer, now};
  send(message.from_address, plain(Type::kPing));  // it is known; the next view may be a long step away
  // It has accepted a later view of somebody else, which may never come: this one needs a higher number.
  if (proposed_ && proposed_->rank_of(newcomer.key) >= 0 && is_promised(message.report)) proposed_.reset();
}

// Empty while it may still be. Who has been a member may have been cut off, and the way to the others be mended.
std::string Membership::why_not_let_in(int64_t now) const {
  if (all_closed_since_ && now - *all_closed_since_ > settings_.silence_ms) return "nobody listens there any more";
  if (latest_view_ == 0 && now - std::max(answered_, phase_began_) > settings_.answer_ms)
    return "nobody answers there who has the run's key; has the run ended, or is the key another one?";
  if (now - phase_began_ > settings_.quorum_ms) return "no view with it came about";
  return "";
}

void Membership::tick_joining(int64_t now) {
  if (const std::string why = why_not_let_in(now); !why.empty()) {
    return depart({static_cast<int>(ErrorCode::kPeerLost),
                   fmt::format("[comm] no run at {} let this worker in within {} s: {}",
                               fmt::join(contacts_.begin(), contacts_.end(), ", "), (now - phase_began_) / 1000, why)});
  }
  if (now - last_attempt_ < settings_.retry_ms) return;
  last_attempt_ = now;
  for (const std::string& contact : contacts_) send(contact, request_to_join(self_));
}

}  // namespace linac::comm
