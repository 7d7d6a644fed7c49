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

std::string machine_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::string address_of_proposer(const View& view) {
  const int rank = view.rank_of(view.proposer);
  return rank < 0 ? "" : view.members[static_cast<size_t>(rank)].address;
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

// --- who is there ---------------------------------------------------------------------------------------------------

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
  if (proposed_ && holds(proposed_->members, member.key)) proposed_.reset();
  const int rank = installed_.rank_of(member.key);
  if (rank < 0) return;
  if (news) {
    events_.push_back({.kind = MembershipEvent::Kind::kLost,
                       .text = fmt::format("{}: {}", describe(installed_, rank), why),
                       .silent = standing == Standing::kSilent ? std::optional(member) : std::nullopt,
                       .last_activity = lost.activity});
  }
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
  const int64_t answer_ms = std::max(5 * pause(), settings_.silence_ms / 8);
  const auto found = peers_.find(silent);
  if (phase_ != Phase::kRegrouping || found == peers_.end() || found->second.heard > phase_began_) return;
  found->second.heard = std::min(found->second.heard, now - settings_.silence_ms + answer_ms);
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
