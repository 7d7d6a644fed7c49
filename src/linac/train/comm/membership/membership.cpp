#include "linac/train/comm/membership/membership.h"

#include <fmt/format.h>

#include <algorithm>

namespace linac::comm {
namespace {

using Type = Message::Type;

constexpr int64_t kProposeAgain = 5;  // attempts

bool holds(const std::vector<Member>& members, uint64_t key) {
  return std::any_of(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
}

bool same_name(const std::optional<View>& a, const std::optional<View>& b) {
  return a && b && a->number == b->number && a->proposer == b->proposer;
}

bool same_members(const View& a, const View& b) {
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                    [](const Member& x, const Member& y) { return x.key == y.key && x.seniority == y.seniority; });
}

}  // namespace

Membership::Membership(Member self, const MembershipSettings& settings, std::function<uint64_t()> draw_key)
    : self_(std::move(self)), settings_(settings), draw_key_(std::move(draw_key)) {
  if (self_.key == 0) self_.key = draw_key_();
}

void Membership::found(const View& first, int64_t now) {
  LINAC_CHECK(first.rank_of(self_.key) >= 0);
  install(first, now);
  if (!ledger_kept_ || !coordinates()) return;
  note_ = {0, first};  // where newcomers find it
  noting_ = true;
}

bool Membership::commit(const Moment& moment) {
  if (phase_ != Phase::kRunning) return false;
  moment_ = moment;
  return true;
}

void Membership::complain_of(uint64_t key) {
  if (installed_.rank_of(key) >= 0) unreachable_ = key;
}

void Membership::leave_view(const std::string& why, int64_t now) {
  if (phase_ == Phase::kRunning) regroup(why, now);
}

void Membership::abort(const Failure& failure) {
  if (phase_ == Phase::kEnded) return;
  Message message = with_failure(Type::kEnd, failure);
  if (failure.code != 0 && rank() >= 0)
    message.failure.text = fmt::format("{}: {}", describe(installed_, rank()), failure.text);
  tell_all(message);
  end(failure);
}

void Membership::depart(const Failure& why) {
  if (phase_ == Phase::kEnded) return;
  send_to_others(with_failure(Type::kLeave, why));
  departed_ = true;
  end(why);
}

void Membership::end(const Failure& failure) {
  ending_ = failure;
  phase_ = Phase::kEnded;
}

// --- messages -------------------------------------------------------------------------------------------------------

void Membership::on_message(const Message& message, int64_t now) {
  if (message.view) seen_number_ = std::max(seen_number_, message.view->number);
  seen_number_ = std::max(seen_number_, message.report.installed);
  if (message.report.accepted) seen_number_ = std::max(seen_number_, message.report.accepted->number);
  switch (phase_) {
    case Phase::kJoining:
      return as_newcomer(message, now);
    case Phase::kRunning:
    case Phase::kRegrouping:
      return as_member(message, now);
    case Phase::kEnded:
      if (message.type != Type::kEnd && message.type != Type::kLeave)
        send(message.from_address, with_failure(departed_ ? Type::kLeave : Type::kEnd, ending_));
      return;
  }
}

// Whether the sender has accepted another view, beside which it cannot accept the proposed one under its number.
bool Membership::is_promised(const Report& report) const {
  return report.accepted && report.accepted->proposer != self_.key && report.accepted->number >= proposed_->number;
}

// The view that a message is about: its own, or the accepted one that it names.
const View* Membership::meant(const View& view) const {
  if (!view.members.empty()) return &view;
  const bool known = accepted_ && accepted_->number == view.number && accepted_->proposer == view.proposer;
  return known ? &*accepted_ : nullptr;
}

// True if the sender lives in an older view, and has been told.
bool Membership::put_straight(const Message& message, int64_t now) {
  if (message.report.installed >= installed_.number) return false;
  if (installed_.rank_of(message.from) < 0) {
    send(message.from_address, plain(Type::kExcluded));
    return true;
  }
  const bool promised = message.report.accepted && message.report.accepted->number > installed_.number;
  if (!ledger_kept_ && promised && message.type == Type::kReport) return false;  // it leaves this one for another
  // What it has said before it read the answer needs no further one.
  Peer& late = peer(message.from);
  if (now - late.told < pause()) return true;
  late.told = now;
  if (!ledger_kept_ && promised) {
    send(message.from_address, plain(Type::kCall));
    return true;
  }
  const bool accepted = same_name(message.report.accepted, installed_);
  send(message.from_address, with_view(Type::kInstall, accepted ? name_of(installed_) : installed_));
  return true;
}

void Membership::as_member(const Message& message, int64_t now) {
  if (is_expelled(message)) return;
  if (installed_.rank_of(message.from) >= 0 || holds(others(), message.from)) hear(message, now);
  switch (message.type) {
    case Type::kPing:
      for (const auto& [key, activity] : message.activities) {
        if (installed_.rank_of(key) >= 0 && key != self_.key) peer(key).activity = activity;
      }
      if (!put_straight(message, now) && message.report.installed > installed_.number)
        ask_for_view(message.from_address);
      return;
    case Type::kCall:
      if (put_straight(message, now)) return;
      if (phase_ == Phase::kRunning && message.report.installed == installed_.number)
        regroup(fmt::format("rank {} asks for the next one", installed_.rank_of(message.from)), now);
      return leads() ? send(message.from_address, plain(Type::kCall)) : report_to(message.from_address);
    case Type::kReport:
      return on_report(message, now);
    case Type::kPropose:
      return on_propose(message, now);
    case Type::kAccept:
      if (!proposed_ || proposed_->number != message.view->number) return;
      peer(message.from).accepted = true;
      return install_if_accepted(now);
    case Type::kInstall:
      if (const View* const view = meant(*message.view);
          view != nullptr && view->number > installed_.number && view->rank_of(self_.key) >= 0) {
        // It may not move any more: its members were asked for what follows it. Where a ledger decides, it has.
        if (!ledger_kept_ && accepted_ && accepted_->number > view->number) return report_to(message.from_address);
        install(View(*view), now);
      }
      return;
    case Type::kExcluded:
      if (message.failure.code != 0) return depart(message.failure);
      if (message.report.installed > installed_.number) become_newcomer({message.from_address}, now);
      return;
    case Type::kJoin:
      return on_join(message, now);
    case Type::kLeave:
      newcomers_.erase(message.from);  // gave up before it was let in
      for (const Member& member : others()) {
        if (member.key != message.from) continue;
        peer(member.key).farewell = message.failure.text;
        lose(member, Standing::kGone, "it left: " + message.failure.text, now);
      }
      return;
    case Type::kEnd:
      return end(message.failure);
    case Type::kTryThere:
      return;
  }
}

void Membership::on_report(const Message& message, int64_t now) {
  if (put_straight(message, now)) return;
  if (message.report.installed > installed_.number) {
    if (phase_ == Phase::kRunning) regroup("a later view exists", now);
    return ask_for_view(message.from_address);
  }
  if (installed_.rank_of(message.from) < 0) return;
  if (phase_ == Phase::kRunning) regroup(fmt::format("rank {} has left it", installed_.rank_of(message.from)), now);
  std::optional<Report>& report = peer(message.from).report;
  const auto& accepted = message.report.accepted;
  // What was proposed without knowing of this may not have a quorum.
  if (proposed_ && accepted && accepted->proposer != self_.key && !(report && same_name(report->accepted, accepted)))
    proposed_.reset();
  report = message.report;
  if (message.report.silent != 0) hasten(message.report.silent, now);
  if (message.report.unreachable != 0) complaints_.emplace(message.from, message.report.unreachable);
  if (proposed_ && is_promised(message.report)) proposed_.reset();
}

void Membership::on_propose(const Message& message, int64_t now) {
  const View& view = *message.view;
  const int my_rank = view.rank_of(self_.key);
  if (my_rank < 0) return;
  const bool again = accepted_ && accepted_->number == view.number && same_members(*accepted_, view);
  const bool mine = view.members[static_cast<size_t>(my_rank)].moment == moment_;
  // Who proposes must have asked what follows a view that this process has promised to somebody else.
  const bool known = !accepted_ || accepted_->proposer == view.proposer || same_name(accepted_, message.promised);
  if (!again && (view.number <= highest_number() || !mine || !known)) {
    if (!put_straight(message, now)) report_to(message.from_address);
    return;
  }
  if (phase_ == Phase::kRunning) regroup(fmt::format("view {} is proposed", view.number), now);
  accepted_ = view;
  proposed_.reset();
  send(message.from_address, with_view(Type::kAccept, name_of(view)));
}

// --- time -----------------------------------------------------------------------------------------------------------

void Membership::on_tick(int64_t now) {
  std::erase_if(newcomers_, [&](const auto& entry) { return now - entry.second.second > settings_.silence_ms; });
  switch (phase_) {
    case Phase::kJoining:
      return tick_joining(now);
    case Phase::kRunning:
      return tick_running(now);
    case Phase::kRegrouping:
      return tick_regrouping(now);
    case Phase::kEnded:
      return;
  }
}

void Membership::tick_running(int64_t now) {
  note_silence(now);
  if (phase_ != Phase::kRunning) return;
  watch_shares(now);
  if (now - last_ping_ < settings_.ping_ms) return;
  last_ping_ = now;
  if (coordinates() && !in_groups()) return send_to_others(ping_to(1));
  for (const size_t other : neighbours()) send(installed_.members[other].address, ping_to(other));
}

// The coordinator hears of all what they are at, from those who look after them.
Message Membership::ping_to(size_t rank) const {
  Message ping = plain(Type::kPing);
  ping.activity = activity_;
  if (!in_groups() || rank != 0) return ping;
  for (const size_t other : neighbours()) {
    const Activity activity = activity_of(installed_.members[other]);
    if (other != 0 && !activity.what.empty()) ping.activities.emplace_back(installed_.members[other].key, activity);
  }
  return ping;
}

void Membership::tick_regrouping(int64_t now) {
  if (proposed_) {
    const bool stale = std::any_of(proposed_->members.begin(), proposed_->members.end(), [&](const Member& member) {
      return member.key != self_.key && installed_.rank_of(member.key) < 0 && !newcomers_.contains(member.key);
    });
    if (stale) proposed_.reset();
  }
  note_silence(now);
  expel_the_deaf(now);
  // Sooner than the others lose their patience, who do not know the reason.
  if (!note_error_.empty() && now - phase_began_ > settings_.quorum_ms * 3 / 4) return abort(unwritten());
  if (now - phase_began_ > settings_.quorum_ms) {
    return depart(
        {static_cast<int>(ErrorCode::kLostQuorum),
         fmt::format("[comm] too few workers were left or reachable for {} s after step {} (at least {}, and "
                     "more than half of those not known to have ended, are needed); go on with --resume",
                     settings_.quorum_ms / 1000, std::max<int64_t>(0, moment_.steps), settings_.members_min)});
  }
  if (leads()) propose_if_ready(now);
  if (phase_ == Phase::kRegrouping && proposed_) install_if_accepted(now);  // if a note is to be tried again
  if (phase_ != Phase::kRegrouping || now - last_attempt_ < pause()) return;
  last_attempt_ = now;
  if (!leads()) {
    if (const Member* const first = candidate()) report_to(first->address);
    return;
  }
  if (!proposed_) return send_to_others(plain(Type::kCall));
  for (const Member& member : proposed_->members) {
    if (member.key == self_.key) continue;
    // Who has accepted waits for the view to be written down. Only a connection that broke has lost a proposal.
    if (peer(member.key).accepted)
      send(member.address, plain(Type::kPing));
    else if (now - proposed_to_all_ >= kProposeAgain * pause())
      propose_to(member, Extent::kWhole);
  }
  if (now - proposed_to_all_ >= kProposeAgain * pause()) proposed_to_all_ = now;
}

}  // namespace linac::comm
