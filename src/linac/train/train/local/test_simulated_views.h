#pragma once
// Processes that exchange messages, are killed, halted and parted, and the views in which they find each other again:
// what train/comm/membership promises, without its messages. A view is left by all; the next one is of those that are
// within reach, if they are more than the silent ones, or as many with the most senior; all its members' moments are
// those that they have committed. Who is left out hears of it late, and comes back as a newcomer with all of its memory
// but the moment. Which message comes first, who hears when, and what is done to whom follows from the dice. Used by
// one thread.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "linac/train/comm/group.h"
#include "linac/train/comm/membership/test_simulated_network.h"
#include "linac/train/train/local/test_fiber.h"

namespace linac::train {

struct Process {
  size_t number = 0;
  std::unique_ptr<Fiber> fiber = {};  // null: it is not there
  uint64_t key = 0;
  comm::View view = {};     // the last one that it was in
  int64_t entered = 0;      // the number of the last one that its function knows of
  bool is_in_view = false;  // and has not left it
  bool is_told = false;     // that it is being left: what it does there counts no more
  comm::Moment moment = {};
  int64_t halted_until = 0;
  int side = 0;             // of a partition
  bool is_meeting = false;  // it exchanges with those who speak for other islands

  enum class Waits { kNothing, kMail, kView };
  Waits waits = Waits::kNothing;
  std::tuple<int64_t, uint64_t, size_t, size_t> mail = {};  // view, channel, from, to
};

struct FaultCounts {
  int64_t kills = 0, mid_meetings = 0, halts = 0, partitions = 0, sites = 0, joins = 0, leaves = 0, views = 0,
          all_lost = 0;
  FaultCounts& operator+=(const FaultCounts& other) {
    for (const auto count :
         {&FaultCounts::kills, &FaultCounts::mid_meetings, &FaultCounts::halts, &FaultCounts::partitions,
          &FaultCounts::sites, &FaultCounts::joins, &FaultCounts::leaves, &FaultCounts::views, &FaultCounts::all_lost})
      this->*count += other.*count;
    return *this;
  }
};

class SimulatedViews {
 public:
  static constexpr int64_t kFaultsEnd = 3000, kEnd = 200'000;  // steps of the schedule
  static constexpr size_t kProcesses = 7;

  /// `life`: what a process does. `deal`: replicas in packs to a view's members.
  SimulatedViews(uint64_t seed, bool verbose, std::function<void(Process&)> life,
                 std::function<void(comm::View&, comm::Dice&)> deal)
      : dice(seed), has_places_(seed % 2 == 0), is_verbose_(verbose), life_(std::move(life)), deal_(std::move(deal)) {}

  /// Plays until all have ended. The first violation in words; empty: none.
  std::string play() {
    begin_anew();
    for (; now_ < kEnd && violation_.empty(); ++now_) {
      if (now_ < kFaultsEnd && !is_over_) inject();
      if (now_ == kFaultsEnd) heal();
      if (is_over_ && std::ranges::none_of(processes_, [](const Process& one) { return one.fiber != nullptr; })) break;
      if (!is_over_ && is_lost()) {
        ++counts.all_lost;
        begin_anew();
      }
      if (dice.chance(0.1)) tell_one(false);
      if (dice.chance(0.2)) form_view(false);
      turn();
    }
    if (violation_.empty() && now_ == kEnd) violate("it does not end");
    for (Process& process : processes_) process.fiber.reset();
    return violation_;
  }

  void violate(const std::string& text) {
    if (violation_.empty()) violation_ = fmt::format("at {}: {}", now_, text);
  }
  void say(const std::string& text) const {
    if (is_verbose_) fmt::print("{:>7} {}\n", now_, text);
  }

  // --- as a process sees it -----------------------------------------------------------------------------------------

  /// False: the peer or this process is no longer in the view.
  bool send(Process& self, int64_t view, uint64_t channel, size_t to, int tag, std::span<const std::byte> bytes) {
    pause(self);
    if (!stands(self, view)) return false;
    if (is_gone(to, view) && dice.chance(0.5)) return false;
    mail_[{view, channel, self.number, to}].push_back({tag, {bytes.begin(), bytes.end()}});
    return true;
  }

  bool receive(Process& self, int64_t view, uint64_t channel, size_t from, int tag, std::span<std::byte> bytes) {
    pause(self);
    while (stands(self, view)) {
      self.mail = {view, channel, from, self.number};
      if (has_mail(self)) {
        std::deque<Mail>& box = mail_[self.mail];
        if (box.front().tag != tag || box.front().bytes.size() != bytes.size())
          violate(fmt::format("p{} is sent something else by p{} than is due", self.number, from));
        else
          std::ranges::copy(box.front().bytes, bytes.begin());
        box.pop_front();
        return true;
      }
      if (is_gone(from, view)) return false;
      self.waits = Process::Waits::kMail;
      self.fiber->wait();
      self.waits = Process::Waits::kNothing;
    }
    return false;
  }

  bool commit(Process& self, const comm::Moment& moment) {
    pause(self);
    if (!self.is_in_view || self.is_told) return false;
    self.moment = moment;
    return true;
  }

  /// Leaves the view and waits for the next one. False: the run is over.
  bool next_view(Process& self) {
    if (self.is_in_view && self.entered == self.view.number) leave(self);
    self.waits = Process::Waits::kView;
    while (!self.is_in_view && !is_over_) self.fiber->wait();
    self.waits = Process::Waits::kNothing;
    self.entered = self.view.number;
    return self.is_in_view;
  }

  bool wants_next_view(const Process& self) {
    if (self.view.rank_of(self.key) != 0) return false;
    return dice.chance(0.03) || std::ranges::any_of(processes_, [&](const Process& one) {
             return one.fiber && !one.is_in_view && is_within_reach(one, self) && newest_.rank_of(one.key) < 0;
           });
  }

  void finish() { is_over_ = true; }
  void leave_the_run(Process& self) {
    ++counts.leaves;
    leave(self);
  }

  const comm::View& newest() const { return newest_; }
  int64_t now() const { return now_; }
  std::deque<Process>& processes() { return processes_; }

  comm::Dice dice;
  FaultCounts counts;

 private:
  struct Mail {
    int tag;
    std::vector<std::byte> bytes;
  };

  bool is_here(const Process& one) const { return one.fiber && one.halted_until <= now_; }
  bool is_within_reach(const Process& one, const Process& other) const {
    return is_here(one) && is_here(other) && one.side == other.side;
  }
  bool stands(const Process& self, int64_t view) const {
    return self.is_in_view && !self.is_told && self.view.number == view;
  }
  bool is_gone(size_t number, int64_t view) const {
    const Process& one = processes_[number];
    return !one.fiber || !one.is_in_view || one.view.number != view;
  }
  bool has_mail(const Process& self) const {
    const auto box = mail_.find(self.mail);
    if (box == mail_.end() || box->second.empty()) return false;
    return processes_[std::get<2>(self.mail)].side == self.side;
  }
  void pause(Process& self) {
    if (dice.chance(0.3)) self.fiber->wait();
  }

  // What it has sent may get lost with it.
  void lose_mail_of(const Process& one) {
    for (auto& [address, box] : mail_)
      while (std::get<2>(address) == one.number && !box.empty() && dice.chance(0.5)) box.pop_back();
  }
  void leave(Process& one) {
    one.is_in_view = false;
    lose_mail_of(one);
  }

  // --- the schedule -------------------------------------------------------------------------------------------------

  bool is_ready(const Process& one) const {
    if (!is_here(one)) return false;
    if (one.waits == Process::Waits::kNothing) return true;
    if (one.waits == Process::Waits::kView) return one.is_in_view || is_over_;
    const int64_t view = std::get<0>(one.mail);
    const size_t from = std::get<2>(one.mail);
    return !stands(one, view) || has_mail(one) ||
           (is_gone(from, view) && (!processes_[from].fiber || is_within_reach(processes_[from], one)));
  }

  void turn() {
    std::vector<Process*> ready;
    for (Process& one : processes_)
      if (is_ready(one)) ready.push_back(&one);
    if (ready.empty()) return go_on_somehow();
    Process& one = *ready[static_cast<size_t>(dice.pick(0, static_cast<int>(ready.size()) - 1))];
    one.fiber->go_on();
    if (!one.fiber->is_over()) return;
    one.fiber.reset();
    one.is_in_view = false;
  }

  // Time passes: somebody is missed, or comes back.
  void go_on_somehow() {
    if (form_view(true) || tell_one(true)) return;
    const auto halted = std::ranges::find_if(processes_, [&](const Process& one) { return one.halted_until > now_; });
    if (halted != processes_.end()) {
      halted->halted_until = 0;
    } else if (is_divided_) {
      unite();
    } else {
      std::string who;
      for (const Process& one : processes_)
        if (one.fiber)
          who += fmt::format(" p{} in view {}{}", one.number, one.view.number, one.is_in_view ? "" : " left");
      violate("nobody goes on:" + who);
    }
  }

  // Somebody hears that its view is left, or misses a member. Unless it is `certain`, who is only silent is waited for.
  bool tell_one(bool certain) {
    std::vector<Process*> those;
    for (Process& one : processes_) {
      if (!is_here(one) || !one.is_in_view || one.is_told) continue;
      const bool hears = std::ranges::any_of(one.view.members, [&](const comm::Member& member) {
        const Process& other = processes_[static_cast<size_t>(member.pid)];
        const bool is_dead = !other.fiber || (other.key != member.key && newest_.rank_of(member.key) < 0);
        if (is_dead) return true;
        if (!is_within_reach(one, other)) return certain || dice.chance(0.02);
        return is_gone(other.number, one.view.number);
      });
      if (hears) those.push_back(&one);
    }
    if (those.empty()) return false;
    Process& one = *those[static_cast<size_t>(dice.pick(0, static_cast<int>(those.size()) - 1))];
    one.is_told = true;
    return true;
  }

  /// Nobody has a state any more.
  bool is_lost() const {
    return std::ranges::none_of(processes_,
                                [&](const Process& one) { return one.fiber && newest_.rank_of(one.key) >= 0; });
  }

  bool form_view(bool at_once) {
    for (const int side : {0, 1}) {
      std::vector<Process*> present, newcomers;
      size_t alive = 0;
      bool is_reported = true;
      int senior = -1;  // the first rank that lives
      bool has_senior = false;
      for (Process& one : processes_) {
        if (!one.fiber) continue;
        const int rank = newest_.rank_of(one.key);
        const bool here = is_here(one) && one.side == side;
        if (rank < 0) {
          if (here && !one.is_in_view && one.waits == Process::Waits::kView) newcomers.push_back(&one);
          continue;
        }
        ++alive;
        if (senior < 0 || rank < senior) {
          senior = rank;
          has_senior = here;
        }
        if (!here) continue;
        present.push_back(&one);
        is_reported = is_reported && !one.is_in_view && one.waits == Process::Waits::kView;
      }
      const size_t silent = alive - present.size();
      if (present.empty() || !is_reported || present.size() < silent || (present.size() == silent && !has_senior))
        continue;
      if (!at_once && dice.chance(silent > 0 ? 0.95 : 0.5)) continue;
      std::erase_if(newcomers, [&](const Process*) { return !at_once && dice.chance(0.3); });
      install(present, newcomers);
      return true;
    }
    return false;
  }

  void install(std::vector<Process*> members, const std::vector<Process*>& newcomers) {
    std::ranges::sort(members, {}, [&](const Process* one) { return newest_.rank_of(one->key); });
    comm::View view{.number = newest_.number + 1, .members = {}, .next_seniority = newest_.next_seniority};
    for (Process* const one : newcomers) {
      one->key = dice.number() | 1;
      one->moment = {};
      members.push_back(one);
    }
    for (const Process* const one : members)
      view.members.push_back({.seniority = view.next_seniority++,
                              .key = one->key,
                              .address = address_of(*one),
                              .host = "sim",
                              .pid = static_cast<int64_t>(one->number),
                              .moment = one->moment});
    deal_(view, dice);
    std::string who;
    for (const comm::Member& member : view.members)
      who += fmt::format(" {} with {} at {}", member.address, member.share, member.moment.steps);
    say(fmt::format("view {}:{}", view.number, who));
    for (Process* const one : members) {
      one->view = view;
      one->is_in_view = true;
      one->is_told = false;
    }
    newest_ = view;
    ++counts.views;
  }

  void begin(Process& one) {
    one.fiber.reset();
    one = {.number = one.number, .side = one.side};
    one.key = dice.number() | 1;
    one.waits = Process::Waits::kView;
    one.fiber = std::make_unique<Fiber>([this, &one] { life_(one); });
    one.fiber->go_on();  // as far as its first wait
  }

  // All at once, as a run is started or resumed.
  void begin_anew() {
    say("a start");
    for (Process& one : processes_) end(one);
    const int count = dice.pick(1, 5);
    std::vector<Process*> all;
    for (int i = 0; i < count; ++i) {
      if (processes_.size() <= static_cast<size_t>(i)) processes_.push_back({.number = processes_.size()});
      begin(processes_[static_cast<size_t>(i)]);
      all.push_back(&processes_[static_cast<size_t>(i)]);
    }
    newest_.members.clear();
    install({}, all);
  }

  // --- faults -------------------------------------------------------------------------------------------------------

  void end(Process& one) {
    one.is_in_view = false;
    one.fiber.reset();
    lose_mail_of(one);
  }
  void kill(Process& one) {
    say(fmt::format("p{} is killed", one.number));
    ++counts.kills;
    counts.mid_meetings += one.is_meeting ? 1 : 0;
    end(one);
  }

  void inject() {
    if (!dice.chance(0.02)) return;
    const int what = dice.pick(0, 99);
    std::vector<Process*> there, not_there;
    for (Process& one : processes_) (one.fiber ? there : not_there).push_back(&one);
    if (there.empty()) return;
    const auto any = [&](const std::vector<Process*>& of) -> Process& {
      return *of[static_cast<size_t>(dice.pick(0, static_cast<int>(of.size()) - 1))];
    };
    if (what < 30) {
      if (there.size() > 1 || dice.chance(0.2)) kill(any(there));
    } else if (what < 40) {
      lose_site();
    } else if (what < 65) {
      join(not_there.empty() || (processes_.size() < kProcesses && dice.chance(0.3)) ? nullptr : &any(not_there));
    } else if (what < 85) {
      Process& one = any(there);
      one.halted_until = now_ + dice.pick(5, 300);
      say(fmt::format("p{} halts until {}", one.number, one.halted_until));
      ++counts.halts;
    } else if (is_divided_) {
      unite();
    } else {
      say("partition");
      ++counts.partitions;
      is_divided_ = true;
      for (Process& one : processes_) one.side = dice.pick(0, 1);
    }
  }

  // In half of the schedules processes are at places, as workers of a launch over several sites.
  std::string place_of(const Process& one) const {
    return has_places_ ? std::string(1, static_cast<char>('a' + one.number % 3)) + "/" : "";
  }
  std::string address_of(const Process& one) const { return fmt::format("{}p{}", place_of(one), one.number); }
  // A place is lost as a whole, else neighbours: with an island, whoever has the copy of what it keeps.
  void lose_site() {
    const int size = newest_.size();
    if (size < 3) return;
    ++counts.sites;
    if (has_places_) {
      const auto& member = newest_.members[static_cast<size_t>(dice.pick(0, size - 1))];
      const std::string place = place_of(processes_[static_cast<size_t>(member.pid)]);
      for (Process& one : processes_)
        if (one.fiber && place_of(one) == place) kill(one);
      return;
    }
    const int first = dice.pick(0, size - 1), count = dice.pick(2, size - 1);
    for (int i = 0; i < count; ++i) {
      const auto& member = newest_.members[static_cast<size_t>((first + i) % size)];
      Process& one = processes_[static_cast<size_t>(member.pid)];
      if (one.fiber && one.key == member.key) kill(one);
    }
  }

  void join(Process* again) {
    if (again == nullptr && processes_.size() >= kProcesses) return;
    if (again == nullptr) {
      processes_.push_back({.number = processes_.size()});
      again = &processes_.back();
    }
    ++counts.joins;
    again->halted_until = 0;
    say(fmt::format("p{} wants to join", again->number));
    begin(*again);
  }

  void unite() {
    is_divided_ = false;
    for (Process& one : processes_) one.side = 0;
    say("no partition");
  }
  void heal() {
    unite();
    for (Process& one : processes_) one.halted_until = 0;
    say("no more faults");
  }

  const bool has_places_, is_verbose_;
  const std::function<void(Process&)> life_;
  const std::function<void(comm::View&, comm::Dice&)> deal_;
  std::deque<Process> processes_;
  std::map<std::tuple<int64_t, uint64_t, size_t, size_t>, std::deque<Mail>> mail_;
  comm::View newest_;
  int64_t now_ = 0;
  bool is_over_ = false, is_divided_ = false;
  std::string violation_;
};

/// The group of a process, as comm::Group is used by training.
class SimulatedGroup : public comm::Group {
 public:
  SimulatedGroup(SimulatedViews& views, Process& self) : Group(comm::View{}), views_(views), self_(self) {}

  bool may_change() const override { return true; }
  bool commit(const comm::Moment& moment) override { return views_.commit(self_, moment); }
  bool wants_next_view() const override { return views_.wants_next_view(self_); }
  bool leaving() const override { return self_.is_told; }

 private:
  SimulatedGroup(SimulatedViews& views, Process& self, const Part& part)
      : Group(part), views_(views), self_(self), meets_(part.name == "leaders of groups") {}

  size_t process_of(int rank) const { return static_cast<size_t>(view().members[static_cast<size_t>(rank)].pid); }
  void exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) override {
    self_.is_meeting = meets_;
    for (const Outward& one : sends)
      if (!views_.send(self_, view().number, channel_number(), process_of(one.to), tag, one.data))
        throw PeerFailed(one.to, "it has left");
    for (const Inward& one : receives)
      if (!views_.receive(self_, view().number, channel_number(), process_of(one.from), tag, one.data))
        throw PeerFailed(one.from, "it has left");
    self_.is_meeting = false;
  }
  std::unique_ptr<Group> open_part(Part part) override {
    return std::unique_ptr<Group>(new SimulatedGroup(views_, self_, part));
  }
  void close() noexcept override {}
  bool reopen(const std::string&) override {
    if (!views_.next_view(self_)) return false;
    take_place(self_.view, self_.view.rank_of(self_.key));
    return true;
  }

  SimulatedViews& views_;
  Process& self_;
  const bool meets_ = false;
};

}  // namespace linac::train
