// From one view to the next: who is on board, whether that is enough, who carries what.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/train/comm/membership/membership.h"

namespace linac::comm {
namespace {

Moment latest(const View& view) {
  return view.members.at(static_cast<size_t>(view.source())).moment;
}

}  // namespace

void Membership::regroup(const std::string& why, int64_t now) {
  events_.push_back({MembershipEvent::Kind::kNote, fmt::format("leaving view {}: {}", installed_.number, why)});
  phase_ = Phase::kRegrouping;
  left_because_ = why;
  phase_began_ = now;
  last_attempt_ = now - pause();
  proposed_.reset();
  note_error_.clear();
  for (auto& [key, one] : peers_) {
    one.report.reset();
    one.accepted = false;
    if (one.standing == Standing::kPresent) one.heard = now;
  }
}

void Membership::install(const View& view, int64_t now) {
  for (const Member& member : view.members) {
    if (installed_.number > 0 && installed_.rank_of(member.key) < 0)
      events_.push_back(
          {MembershipEvent::Kind::kJoined, fmt::format("{} joined", describe(view, view.rank_of(member.key)))});
    newcomers_.erase(member.key);
    expelled_.erase(member.address);
    Peer& fresh = peer(member.key);
    fresh.heard = now;
    fresh.standing = Standing::kPresent;
    fresh.expelled = false;
  }
  installed_ = view;
  latest_view_ = std::max(latest_view_, view.number);
  unreachable_ = silent_ = 0;
  if (view.idle == 0) complaints_.clear();
  seen_number_ = std::max(seen_number_, view.number);
  if (accepted_ && accepted_->number <= view.number) accepted_.reset();
  proposed_.reset();
  std::erase_if(peers_, [&](const auto& entry) { return view.rank_of(entry.first) < 0; });
  phase_ = Phase::kRunning;
  phase_began_ = now;
  unfair_since_ = kFair;
  last_ping_ = now - settings_.ping_ms;
  events_.push_back({MembershipEvent::Kind::kInstalled,
                     fmt::format("view {}: {} workers, this one is rank {}", view.number, view.size(), rank())});
}

bool Membership::aboard(const Member& member) const {
  if (member.key == self_.key) return true;
  const auto found = peers_.find(member.key);
  return found != peers_.end() && found->second.standing == Standing::kPresent && found->second.report;
}

bool Membership::has_quorum(const View& view) const {
  int present = 0, silent = 0;
  bool senior_present = false;
  for (const Member& member : view.members) {
    const auto found = peers_.find(member.key);
    if (found != peers_.end() && found->second.standing == Standing::kGone) continue;
    const bool here = aboard(member);
    if (present + silent == 0) senior_present = here;
    ++(here ? present : silent);
  }
  return present > silent || (present == silent && senior_present);
}

bool Membership::has_all_quorums() const {
  if (!has_quorum(installed_) || (accepted_ && !has_quorum(*accepted_))) return false;
  std::set<std::pair<int64_t, uint64_t>> views;  // most have accepted the same
  return std::all_of(installed_.members.begin(), installed_.members.end(), [&](const Member& member) {
    if (member.key == self_.key || !aboard(member)) return true;
    const auto& accepted = peers_.at(member.key).report->accepted;
    if (!accepted || accepted->proposer == self_.key) return true;
    return !views.emplace(accepted->number, accepted->proposer).second || has_quorum(*accepted);
  });
}

// Whether a step was finished in the view that is left, as far as those on board know.
bool Membership::stepped() const {
  const Moment begin = latest(installed_);
  return std::any_of(installed_.members.begin(), installed_.members.end(), [&](const Member& member) {
    return aboard(member) && (member.key == self_.key ? moment_ : peers_.at(member.key).report->moment) > begin;
  });
}

View Membership::next_view() const {
  View next{
      .number = seen_number_ + 1, .proposer = self_.key, .members = {}, .next_seniority = installed_.next_seniority};
  for (Member member : installed_.members) {
    if (!aboard(member)) continue;
    member.moment = member.key == self_.key ? moment_ : peers_.at(member.key).report->moment;
    next.members.push_back(member);
  }
  const bool lost = next.size() < installed_.size();
  next.fruitless = lost ? (stepped() ? 1 : installed_.fruitless + 1) : stepped() ? 0 : installed_.fruitless;
  next.idle = stepped() && !quarrelled() ? 0 : installed_.idle + 1;
  for (const auto& [key, newcomer] : newcomers_) {
    next.members.push_back(newcomer.first);
    next.members.back().seniority = next.next_seniority++;
  }
  deal_by_pace(next);
  return next;
}

// Newcomers' pace is not known: they are taken for average.
void Membership::deal_by_pace(View& view) const {
  std::vector<double> seconds;
  double known = 0;
  int count = 0;
  for (const Member& member : view.members) {
    seconds.push_back(activity_of(member).pace_s);
    known += seconds.back();
    count += seconds.back() > 0 ? 1 : 0;
  }
  for (double& value : seconds) value = value > 0 ? value : count > 0 ? known / count : 1;
  std::vector<int> shares(seconds.size(), 0);
  if (settings_.pack > 0)
    shares = deal_packs(settings_.replicas, settings_.pack, seconds);
  else if (count > 0 && settings_.replicas > 0)
    shares = deal(settings_.replicas, seconds);
  for (size_t i = 0; i < shares.size(); ++i) view.members[i].share = shares[i];
}

// New shares cost a view, so they are wanted only where the gain is clear and lasts.
void Membership::watch_shares(int64_t now) {
  constexpr double kWorthwhile = 0.85;
  constexpr int64_t kLastsMs = 3000;
  if (!coordinates() || settings_.replicas == 0 || unfair_since_ == kLongUnfair) return;
  View dealt = installed_;
  deal_by_pace(dealt);
  std::vector<double> seconds;
  std::vector<int> now_shares, new_shares;
  for (int rank = 0; rank < installed_.size(); ++rank) {
    const Member& member = dealt.members[static_cast<size_t>(rank)];
    seconds.push_back(activity_of(member).pace_s);
    const ReplicaRange range = replicas_of(installed_, rank, settings_.replicas);
    now_shares.push_back(range.end - range.begin);
    new_shares.push_back(member.share);
  }
  const bool known = std::all_of(seconds.begin(), seconds.end(), [](double value) { return value > 0; });
  if (!known || slowest(new_shares, seconds) > kWorthwhile * slowest(now_shares, seconds)) {
    unfair_since_ = kFair;
  } else if (unfair_since_ == kFair) {
    unfair_since_ = now;
  } else if (now - unfair_since_ > kLastsMs) {
    unfair_since_ = kLongUnfair;
    const auto last = std::max_element(seconds.begin(), seconds.end());
    events_.push_back(
        {MembershipEvent::Kind::kShares,
         fmt::format("{} is the slowest ({:.3g} s a replica, the fastest {:.3g} s): replicas move from {} "
                     "to {}",
                     describe(installed_, static_cast<int>(last - seconds.begin())), *last,
                     *std::min_element(seconds.begin(), seconds.end()), fmt::join(now_shares, " "),
                     fmt::join(new_shares, " "))});
  }
}

void Membership::propose_if_ready(int64_t now) {
  if (proposed_) return;
  for (const Member& member : installed_.members) {
    const auto found = peers_.find(member.key);
    const bool present = found != peers_.end() && found->second.standing == Standing::kPresent;
    if (present && !aboard(member)) return;  // its report is on the way
  }
  if (!has_all_quorums()) return;
  if (unreachable_ != 0) complaints_.emplace(self_.key, unreachable_);
  expel_the_cut_off(now);
  if (phase_ != Phase::kRegrouping || !has_all_quorums()) return;
  const View next = next_view();
  if (next.size() < settings_.members_min) return;
  if (next.fruitless > settings_.fruitless_max) {
    return abort({static_cast<int>(ErrorCode::kPeerLost),
                  fmt::format("workers were lost {} times in a row without a finished step between (after step {}): "
                              "the step itself ends them; see their messages",
                              next.fruitless, std::max<int64_t>(0, latest(next).steps))});
  }
  if (next.idle > settings_.idle_max) {
    return abort(
        {static_cast<int>(ErrorCode::kPeerLost),
         fmt::format("[comm] {} views in a row came to nothing (after step {}; the last one was left because: {}): the "
                     "workers cannot exchange data; look at the network between them, and whether all run the "
                     "same program",
                     next.idle, std::max<int64_t>(0, latest(next).steps), left_because_)});
  }
  proposed_ = next;
  proposed_at_ = proposed_to_all_ = now;
  seen_number_ = next.number;
  for (auto& [key, one] : peers_) one.accepted = false;
  for (const Member& member : next.members) {
    if (member.key != self_.key) propose_to(member, Extent::kChange);
  }
  install_if_accepted(now);
}

void Membership::propose_to(const Member& member, Extent extent) {
  Message message = with_view(Message::Type::kPropose, *proposed_);
  const auto& report = peer(member.key).report;
  if (report && report->accepted) message.promised = name_of(*report->accepted);
  const bool knows_view = report && report->installed == installed_.number;
  send(member.address, message, knows_view && extent == Extent::kChange);
}

void Membership::install_if_accepted(int64_t now) {
  if (!proposed_) return;
  for (const Member& member : proposed_->members) {
    if (member.key != self_.key && !peer(member.key).accepted) return;
  }
  if (!ledger_kept_) return install_for_all(View(*proposed_), now);
  if (noting_ || now < note_again_) return;
  note_ = {installed_.number, *proposed_};
  noting_ = true;
}

// What is written down counts, also where this process has given its proposal up since.
void Membership::on_noted(int64_t number, const View& next, int64_t now) {
  noting_ = false;
  note_error_.clear();
  if (phase_ == Phase::kRegrouping && number == installed_.number) install_for_all(next, now);
}

void Membership::on_note_failed(int64_t number, const std::string& why, int64_t now) {
  constexpr int64_t kTryAgainMs = 500;
  noting_ = false;
  note_again_ = now + kTryAgainMs;
  const bool news = std::exchange(note_error_, why).empty();
  if (number == 0) return abort(unwritten());  // nothing is lost yet
  if (news) events_.push_back({MembershipEvent::Kind::kTrouble, why + "; trying again"});
}

Failure Membership::unwritten() const {
  return {static_cast<int>(ErrorCode::kEnvironment),
          fmt::format("[comm] the views of the run cannot be written down: {}; make room or mend the disk, then go on "
                      "with --resume",
                      note_error_)};
}

void Membership::install_for_all(const View& view, int64_t now) {
  if (view.rank_of(self_.key) < 0) {
    std::set<std::string> contacts;
    for (const Member& member : view.members) contacts.insert(member.address);
    return become_newcomer(contacts, now);
  }
  for (const Member& member : view.members) {
    if (member.key == self_.key) continue;
    const bool known = proposed_ && proposed_->number == view.number && proposed_->proposer == view.proposer &&
                       peer(member.key).accepted;
    send(member.address, with_view(Message::Type::kInstall, known ? name_of(view) : view));
  }
  install(view, now);
  for (const Member& member : view.members) peer(member.key).told = now;
}

}  // namespace linac::comm
