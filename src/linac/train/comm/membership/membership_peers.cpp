// The other members: who is there, and what is said to them; who is silent, gone, or refuses to answer.

#include <fmt/format.h>

#include <algorithm>

#include "linac/train/comm/membership/membership.h"

namespace linac::comm {
namespace {

using Type = Message::Type;

std::string machine_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::string address_of_proposer(const View& view) {
  const int rank = view.rank_of(view.proposer);
  return rank < 0 ? "" : view.members[static_cast<size_t>(rank)].address;
}

}  // namespace

std::vector<Member> Membership::others() const {
  std::vector<Member> all;
  std::set<uint64_t> known{self_.key};
  std::set<std::pair<int64_t, uint64_t>> views;  // most have accepted the same
  const auto add = [&](const View& view) {
    if (view.members.empty() || !views.emplace(view.number, view.proposer).second) return;
    for (const Member& member : view.members) {
      if (known.insert(member.key).second) all.push_back(member);
    }
  };
  add(installed_);
  if (accepted_) add(*accepted_);
  for (const auto& [key, one] : peers_) {
    if (one.report && one.report->accepted) add(*one.report->accepted);
  }
  return all;
}

const Member* Membership::candidate() const {
  for (const Member& member : installed_.members) {
    const auto peer = peers_.find(member.key);
    if (member.key == self_.key || peer == peers_.end() || peer->second.standing == Standing::kPresent) return &member;
  }
  return nullptr;
}

bool Membership::leads() const {
  const Member* const first = candidate();
  return first != nullptr && first->key == self_.key;
}

// In groups of neighbours as many as there are groups.
std::vector<size_t> Membership::neighbours() const {
  const auto count = installed_.members.size(), self = static_cast<size_t>(rank());
  size_t size = 1;
  while (size * size < count) ++size;
  if (!in_groups()) size = count;
  const size_t first = self - self % size;
  std::vector<size_t> ranks;
  if (self != first) return {first};
  for (size_t other = first + 1; other < std::min(first + size, count); ++other) ranks.push_back(other);
  if (self != 0) ranks.push_back(0);
  for (size_t other = size; self == 0 && other < count; other += size) ranks.push_back(other);
  return ranks;
}

std::vector<std::string> Membership::watched() const {
  std::vector<std::string> addresses;
  if (phase_ == Phase::kRunning && (in_groups() || !coordinates())) {
    for (const size_t other : neighbours()) addresses.push_back(installed_.members[other].address);
    return addresses;
  }
  if (phase_ == Phase::kRegrouping && !leads()) {
    if (const Member* const first = candidate()) addresses.push_back(first->address);
  } else if (phase_ == Phase::kRunning || phase_ == Phase::kRegrouping) {
    for (const Member& member : others()) addresses.push_back(member.address);
  }
  return addresses;
}

// The one who proposes has an answer for each attempt of each member.
int64_t Membership::pause() const {
  constexpr int64_t kMany = 32;
  return settings_.retry_ms * std::max<int64_t>(1, installed_.size() / kMany);
}

// What a message there and one back may take, on a loaded machine too.
int64_t Membership::answer_time() const {
  return std::max(5 * pause(), settings_.silence_ms / 8);
}

Activity Membership::activity_of(const Member& member) const {
  if (member.key == self_.key) return activity_;
  const auto found = peers_.find(member.key);
  return found == peers_.end() ? Activity{} : found->second.activity;
}

std::vector<Activity> Membership::activities() const {
  std::vector<Activity> all;
  for (const Member& member : installed_.members) all.push_back(activity_of(member));
  return all;
}

int64_t Membership::highest_number() const {
  return std::max({installed_.number, accepted_ ? accepted_->number : 0, proposed_ ? proposed_->number : 0});
}

Report Membership::own_report() const {
  return {.installed = phase_ == Phase::kJoining ? latest_view_ : installed_.number,
          .accepted = accepted_,
          .moment = moment_,
          .unreachable = unreachable_,
          .silent = silent_};
}

void Membership::send(const std::string& to, Message message, bool knows_view) {
  message.from = self_.key;
  message.from_address = self_.address;
  message.report = own_report();
  if (accepted_ && (message.type != Type::kReport || address_of_proposer(*accepted_) == to))
    message.report.accepted = name_of(*accepted_);
  outgoing_.push_back({to, std::move(message), knows_view});
}

void Membership::send_to_others(const Message& message) {
  for (const Member& member : others()) {
    if (peers_[member.key].standing != Standing::kGone) send(member.address, message);
  }
}

void Membership::tell_all(const Message& message) {
  send_to_others(message);
  for (const auto& [key, newcomer] : newcomers_) send(newcomer.first.address, message);
}

// Who reports to another leaves the next view to it.
void Membership::report_to(const std::string& to) {
  proposed_.reset();
  send(to, plain(Type::kReport));
}

// The answer to any message from an earlier view is the later one.
void Membership::ask_for_view(const std::string& of) {
  proposed_.reset();
  send(of, plain(Type::kPing));
}

void Membership::lose(const Member& member, Standing standing, const std::string& why, int64_t now) {
  Peer& lost = peer(member.key);
  if (lost.standing == Standing::kGone || lost.standing == standing) return;
  const bool news = lost.standing == Standing::kPresent;
  lost.standing = standing;
  lost.report.reset();
  if (proposed_ && proposed_->rank_of(member.key) >= 0) proposed_.reset();
  const int rank = installed_.rank_of(member.key);
  if (rank < 0) return;
  if (news) {
    events_.push_back({.kind = MembershipEvent::Kind::kLost,
                       .text = fmt::format("{}: {}", describe(installed_, rank), why),
                       .silent = standing == Standing::kSilent ? std::optional(member) : std::nullopt,
                       .last_activity = lost.activity});
  }
  // Nothing was expected yet of who is to propose now: it gets the time for an answer.
  const Member* const next = phase_ == Phase::kRegrouping ? candidate() : nullptr;
  if (next != nullptr && next->key != self_.key)
    peer(next->key).heard = std::max(peer(next->key).heard, now - settings_.silence_ms + answer_time());
  if (phase_ != Phase::kRunning) return;
  if (standing == Standing::kSilent) silent_ = member.key;
  regroup(fmt::format("rank {} is lost", rank), now);
}

// While all is well neighbours watch each other, the coordinator and the others where they are few; between two views
// who leads watches all, and they who leads: nobody else speaks to them.
void Membership::note_silence(int64_t now) {
  if (phase_ == Phase::kRegrouping && !leads()) {
    if (const Member* const first = candidate()) note_silence_of(Member(*first), now);
    return;
  }
  if (phase_ == Phase::kRegrouping) {
    if (now - looked_for_silence_ < settings_.retry_ms) return;
    looked_for_silence_ = now;
    for (const Member& member : others()) note_silence_of(member, now);
    return;
  }
  for (const size_t rank : neighbours()) {
    note_silence_of(Member(installed_.members[rank]), now);
    if (phase_ != Phase::kRunning) return;
  }
}

// Who looked after this member has waited for it already: it gets the time for an answer, and not all of it again.
void Membership::hasten(uint64_t silent, int64_t now) {
  const auto found = peers_.find(silent);
  if (phase_ != Phase::kRegrouping || found == peers_.end() || found->second.heard > phase_began_) return;
  found->second.heard = std::min(found->second.heard, now - settings_.silence_ms + answer_time());
}

void Membership::note_silence_of(const Member& member, int64_t now) {
  if (member.key == self_.key) return;
  const Peer& silent = peer(member.key);
  if (silent.standing != Standing::kPresent || now - silent.heard < settings_.silence_ms) return;
  lose(member, Standing::kSilent,
       fmt::format("nothing heard for {:.1f} s", static_cast<double>(now - silent.heard) / 1000), now);
}

void Membership::hear(const Message& message, int64_t now) {
  Peer& speaker = peer(message.from);
  speaker.heard = now;
  if (!message.activity.what.empty()) speaker.activity = message.activity;
  if (speaker.expelled) return;
  if (speaker.standing == Standing::kSilent || (speaker.standing == Standing::kGone && speaker.farewell.empty()))
    speaker.standing = Standing::kPresent;
}

void Membership::on_refused(const std::string& address, int64_t now) {
  if (phase_ == Phase::kEnded) return;
  if (phase_ == Phase::kJoining) {
    refused_contacts_.insert(address);
    const bool all =
        std::includes(refused_contacts_.begin(), refused_contacts_.end(), contacts_.begin(), contacts_.end());
    if (all && !all_closed_since_) all_closed_since_ = now;
    return;
  }
  std::erase_if(newcomers_, [&](const auto& entry) { return entry.second.first.address == address; });
  for (const Member& member : others()) {
    if (member.address != address) continue;
    const bool ended = means_end(address);
    lose(member, ended ? Standing::kGone : Standing::kSilent,
         ended ? "its process has ended" : "its address refuses connections", now);
  }
}

// The own machine's kernel knows. What comes from elsewhere is harmless only if everybody who might form another view
// would write it down at the same place.
bool Membership::means_end(const std::string& refusing) const {
  if (machine_of(refusing) == machine_of(self_.address)) return true;
  const std::vector<Member> all = others();
  return !self_.ledger.empty() &&
         std::all_of(all.begin(), all.end(), [&](const Member& one) { return one.ledger == self_.ledger; });
}

}  // namespace linac::comm
