#pragma once
// A toy training on simulated processes around the real state machine of the membership, with crashes, halts,
// partitions, cut ways, slow and lost messages, full disks and rejoins, in simulated time. Each schedule follows from
// its seed alone. Used by one thread.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/train/comm/membership/membership.h"
#include "linac/train/comm/membership/test_simulated_network.h"
#include "linac/train/comm/membership/test_simulated_record.h"

namespace linac::comm {

inline constexpr int64_t kFaultsEndMs = 60'000, kEndMs = 400'000, kTickMs = 50, kMeanStepMs = 400;
inline constexpr int64_t kSteps = 150;
inline constexpr MembershipSettings kSettings{
    .silence_ms = 3000, .quorum_ms = 10'000'000, .fruitless_max = 1000, .idle_max = 1000};
inline constexpr MembershipSettings kShortSettings{.silence_ms = 3000, .quorum_ms = 20'000};
inline constexpr int64_t kLinkPatienceMs = 3000;

inline uint64_t next_value(uint64_t value) {
  return value * 6364136223846793005U + 1442695040888963407U;
}

struct Process {
  std::string address;
  std::unique_ptr<Membership> membership;  // null: ended
  int64_t halted_until = 0;
  int64_t ready_at = 0;  // the step's computation is done
  int64_t view = 0;      // that the members below belong to
  Moment moment{};
  uint64_t value = 0;
  bool has_state = false, announced = false;
  std::map<uint64_t, Training> parts{};  // of the others, for this step
  bool complete = false;
  std::optional<LedgerNote> writing{};  // with the disk
  int64_t written_at = 0;
  bool writing_fails = false;
  SimulatedRecord::Writer writer{};
};

/// Of one schedule or of several.
struct Counts {
  int64_t crashes = 0, halts = 0, partitions = 0, cut_ways = 0, bad_lines = 0, full_disks = 0;
  int64_t joins = 0, all_lost = 0, views = 0, files = 0;
  Counts& operator+=(const Counts& other) {
    for (const auto count :
         {&Counts::crashes, &Counts::halts, &Counts::partitions, &Counts::cut_ways, &Counts::bad_lines,
          &Counts::full_disks, &Counts::joins, &Counts::all_lost, &Counts::views, &Counts::files})
      this->*count += other.*count;
    return *this;
  }
  int64_t faults() const { return crashes + halts + partitions + cut_ways + bad_lines + full_disks; }
};

class Simulation {
 public:
  enum class Ways { kWhole, kCut };

  // Without a ledger, no process is killed: it is what the rule of the majority alone cannot bear.
  Simulation(uint64_t seed, bool verbose, const MembershipSettings& settings = kSettings, Ways ways = Ways::kWhole,
             SimulatedRecord::LeftOut left_out = SimulatedRecord::LeftOut::kNothing)
      : dice_(seed),
        verbose_(verbose),
        ledger_kept_(seed % 4 != 0),
        settings_(settings),
        network_(dice_),
        ways_(ways),
        record_(left_out),
        record_dice_(seed + 1) {
    found(pick(2, 7));
  }

  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // The first view, of so many processes.
  void found(int count) {
    View first{.number = 1, .members = {}, .next_seniority = count};
    for (int i = 0; i < count; ++i) {
      processes_.push_back({.address = fmt::format("p{}", i), .membership = {}});
      start(processes_.back());
      first.members.push_back({.seniority = i,
                               .key = processes_.back().membership->key(),
                               .address = processes_.back().address,
                               .host = "sim",
                               .pid = i,
                               .ledger = ledger_kept_ ? "shared" : ""});
    }
    for (Process& process : processes_) process.membership->found(first, 0);
  }

  // The same with pings in groups of two and more.
  static Simulation in_groups(uint64_t seed, bool verbose) {
    MembershipSettings settings = kSettings;
    settings.one_level_max = 2;
    return {seed, verbose, settings};
  }

  // The same with ways between two processes that are cut, one by one and several at the same time.
  static Simulation with_cut_ways(uint64_t seed, bool verbose) { return {seed, verbose, kSettings, Ways::kCut}; }

  // The same with something left out of the order in which files are written.
  static Simulation with_record(uint64_t seed, bool verbose, SimulatedRecord::LeftOut left_out) {
    return {seed, verbose, kSettings, Ways::kWhole, left_out};
  }

  // `count` processes without any fault but this, which lasts.
  Simulation(uint64_t seed, int count, const BadLink& link, bool verbose)
      : dice_(seed),
        verbose_(verbose),
        ledger_kept_(seed % 2 != 0),
        settings_(kShortSettings),
        bad_link_(link),
        network_(dice_, link),
        record_(SimulatedRecord::LeftOut::kNothing),
        record_dice_(seed + 1) {
    found(count);
  }

  // The first violation in words; empty if there is none.
  std::string run() {
    for (now_ = 0; now_ < kEndMs && violation_.empty(); now_ += kTickMs) {
      if (now_ < kFaultsEndMs && !bad_link_) inject();
      if (now_ == kFaultsEndMs) heal();
      deliver();
      for (Process& process : processes_) {
        if (process.membership && process.halted_until <= now_) tick(process);
      }
      if (now_ > kFaultsEndMs && all_done()) break;
    }
    if (violation_.empty()) check_end();
    for (const Process& process : processes_) say(describe(process));
    return violation_;
  }

  Counts counts;
  int64_t now() const { return now_; }
  int completed() const {
    return static_cast<int>(
        std::count_if(processes_.begin(), processes_.end(), [](const Process& process) { return process.complete; }));
  }

 private:
  int pick(int low, int high) { return dice_.pick(low, high); }
  bool chance(double probability) { return dice_.chance(probability); }
  size_t index_of(const std::string& address) const { return std::stoul(address.substr(1)); }
  void say(const std::string& text) const {
    if (verbose_) fmt::print("{:>7} {}\n", now_, text);
  }
  std::string describe(const Process& process) const {
    if (!process.membership) return process.address + " is dead";
    std::string members;
    for (const Member& member : process.membership->view().members) members += " " + member.address;
    return fmt::format("{} is in phase {} of view {}{}, step {}, {}", process.address,
                       static_cast<int>(process.membership->phase()), process.membership->view().number, members,
                       process.moment.steps, process.has_state ? "has its state" : "has no state");
  }
  void violate(const std::string& text) {
    if (violation_.empty()) violation_ = fmt::format("at {} ms: {}", now_, text);
  }

  void start(Process& process) {
    process = {.address = process.address, .membership = {}};
    process.membership = std::make_unique<Membership>(Member{.seniority = 0,
                                                             .key = 0,
                                                             .address = process.address,
                                                             .host = "sim",
                                                             .pid = 0,
                                                             .ledger = ledger_kept_ ? "shared" : ""},
                                                      settings_, [this] { return dice_.number() | 1; });
    if (ledger_kept_) process.membership->keep_ledger();
  }

  bool faulty() const { return now_ < kFaultsEndMs; }
  void post(Packet packet) { network_.post(std::move(packet), now_, faulty()); }

  void deliver() {
    while (const std::optional<Packet> packet = network_.take(now_, faulty())) {
      Process& to = processes_[packet->to];
      if (!to.membership) {
        if (!packet->refusal && packet->message) network_.refuse(*packet, false, now_, faulty());
        continue;
      }
      if (to.halted_until > now_) {
        network_.put_off(*packet, to.halted_until);
        continue;
      }
      if (packet->refusal) {
        // It may have begun anew meanwhile, as a listener would have noticed.
        if (packet->reset || !processes_[packet->from].membership)
          to.membership->on_refused(processes_[packet->from].address, now_);
      } else if (packet->message) {
        to.membership->on_message(*packet->message, now_);
      } else {
        hear(to, packet->training_from, *packet->training);
      }
      settle(to);
    }
  }

  // The disk: writes at once, or a moment after the process may have died; answers later. Sometimes it is full.
  void write_down(Process& process, const LedgerNote& note) {
    process.writing = note;
    process.written_at = now_ + (chance(0.1) ? pick(0, 4000) : pick(0, 100));
    process.writing_fails = now_ < kFaultsEndMs && chance(0.05) && note.number > 0;
    counts.full_disks += process.writing_fails;
    if (!process.writing_fails && chance(0.5)) ledger_.emplace(note.number, note.next);
  }

  void answer_note(Process& process) {
    if (!process.writing || process.written_at > now_) return;
    const LedgerNote note = *std::exchange(process.writing, {});
    if (process.writing_fails) return process.membership->on_note_failed(note.number, "the disk is full", now_);
    process.membership->on_noted(note.number, ledger_.emplace(note.number, note.next).first->second, now_);
  }

  // The folder that all share. What a process writes there it does beside its training, on a disk that takes its time.
  void write_record(Process& process) {
    if (!ledger_kept_) return;
    if (record_dice_.chance(0.2)) record_.want(process.writer, process.membership->view());
    if (record_dice_.chance(0.2))
      if (const std::string broken = record_.work(process.writer); !broken.empty()) violate(broken);
    if (!record_.is_whole()) violate("a file is there in part");
    counts.files = record_.written();
  }

  // Sends what the state machine wants sent, and follows it into a new view.
  void settle(Process& process) {
    const size_t self = index_of(process.address);
    for (auto& outgoing : process.membership->take_outgoing()) {
      post({.from = self, .to = index_of(outgoing.to), .message = std::move(outgoing.message)});
    }
    if (const auto note = process.membership->take_note()) write_down(process, *note);
    for (const auto& event : process.membership->take_events()) say(process.address + " " + event.text);
    const View& view = process.membership->view();
    if (process.membership->running() && process.view != view.number) enter(process, view);
  }

  void enter(Process& process, const View& view) {
    process.view = view.number;
    process.parts.clear();
    process.announced = false;
    if (view.number > newest_installed_.number) newest_installed_ = view;
    const Member& me = view.members[static_cast<size_t>(process.membership->rank())];
    const Moment source = view.members[static_cast<size_t>(view.source())].moment;
    process.has_state = me.moment == source;
    if (process.has_state && source == Moment{}) begin_at(process, {0, 0, 0}, 7);
    process.ready_at = now_ + pick(0, 2 * kMeanStepMs);
    if (ledger_kept_) record_.enter(process.writer, view, process.membership->key());
    if (process.has_state && process.moment != Moment{} && me.moment != process.moment && source != Moment{})
      violate(fmt::format("{} enters view {} at another moment than it stands at", process.address, view.number));
  }

  void begin_at(Process& process, const Moment& moment, uint64_t value) {
    process.moment = moment;
    process.value = value;
    process.has_state = true;
    process.membership->commit(moment);
  }

  void tell_others(Process& process, const Training& training) {
    const View& view = process.membership->view();
    for (const Member& member : view.members) {
      if (member.key == process.membership->key()) continue;
      post({.from = index_of(process.address),
            .to = index_of(member.address),
            .training = training,
            .training_from = process.membership->key()});
    }
  }

  void hear(Process& process, uint64_t from, const Training& training) {
    if (!process.membership->running() || training.view != process.view) return;
    if (training.is_state) {
      if (!process.has_state) begin_at(process, training.moment, training.value);
      return;
    }
    process.parts[from] = training;
  }

  void tick(Process& process) {
    process.membership->on_tick(now_);
    write_record(process);
    answer_note(process);
    settle(process);
    if (process.membership->phase() == Membership::Phase::kEnded) {
      process.complete = process.membership->ending().code == 0;
      return;
    }
    const View& view = process.membership->view();
    if (!process.membership->running()) {
      // The training learns later than the membership that its view is left.
      const bool in_step = process.membership->phase() == Membership::Phase::kRegrouping && process.view == view.number;
      if (in_step && process.has_state && now_ >= process.ready_at) step(process, view);
      return;
    }
    // Data that a broken connection lost is not sent again: here it is, every tick, which no view outlives for long.
    if (process.has_state && view.needs_state() && view.source() == process.membership->rank())
      tell_others(process, {process.view, process.moment, process.value, true});
    if (process.membership->wants_next_view() && chance(0.2)) process.membership->leave_view("newcomers", now_);
    if (process.has_state && now_ >= process.ready_at) step(process, view);
    complain(process, view);
    settle(process);
  }

  // Who cannot make a connection says with whom; the others only wait.
  void complain(Process& process, const View& view) {
    if (!bad_link_ || !process.membership->running() || now_ - process.ready_at < kLinkPatienceMs) return;
    const size_t self = index_of(process.address);
    for (const Member& member : view.members) {
      const size_t other = index_of(member.address);
      if (!network_.swallows(self, other, true) && !network_.swallows(other, self, true)) continue;
      process.membership->complain_of(member.key);
      process.membership->leave_view("no connection", now_);
      return;
    }
  }

  void step(Process& process, const View& view) {
    tell_others(process, {process.view, process.moment, process.value, false});
    for (const Member& member : view.members) {
      if (member.key == process.membership->key()) continue;
      const auto part = process.parts.find(member.key);
      // One that is a step ahead has had our part.
      if (part == process.parts.end() || part->second.moment < process.moment) return;
      if (part->second.moment == process.moment && part->second.value != process.value)
        violate(fmt::format("{} has other values after step {}", process.address, process.moment.steps));
    }
    const Moment next{0, process.moment.steps + 1, 0};
    if (!process.membership->commit(next)) return;
    check_commit(process, next);
    process.moment = next;
    process.value = next_value(process.value);
    process.ready_at = now_ + pick(0, 2 * kMeanStepMs);
    if (next.steps >= kSteps) {
      process.complete = true;
      process.membership->finish();
    }
  }

  // No step that is new to the run may be finished in a view older than one that has finished steps.
  void check_commit(const Process& process, const Moment& next) {
    if (next.steps > newest_step_) {
      if (process.view < newest_view_)
        violate(fmt::format("split: {} finishes step {} in view {} after view {} has finished steps", process.address,
                            next.steps, process.view, newest_view_));
      newest_step_ = next.steps;
    }
    newest_view_ = std::max(newest_view_, process.view);
  }

  void inject() {
    if (chance(0.01)) change_weather();
    for (Process& process : processes_) {
      if (process.membership && process.membership->phase() != Membership::Phase::kEnded && ledger_kept_ &&
          chance(0.003)) {
        say(process.address + " is killed");
        process.membership.reset();
        ++counts.crashes;
      } else if (!process.membership && chance(0.01)) {
        join(process);
      } else if (process.membership && process.halted_until <= now_ && chance(0.002)) {
        process.halted_until = now_ + pick(100, 12'000);
        say(fmt::format("{} halts until {}", process.address, process.halted_until));
        ++counts.halts;
      }
    }
    if (processes_.size() < 10 && chance(0.003)) {
      processes_.push_back({.address = fmt::format("p{}", processes_.size()), .membership = {}});
      network_.one_more_process();
      join(processes_.back());
    }
    if (!network_.divided() && chance(0.003)) {
      network_.divide(processes_.size());
      say(network_.resets() ? "partition, answered by resets" : "partition");
      ++counts.partitions;
    } else if (network_.divided() && chance(0.01)) {
      network_.unite();
      say("healed");
    }
    if (ways_ == Ways::kCut && chance(0.02)) cut_ways();
  }

  void change_weather() {
    network_.change_weather();
    counts.bad_lines += network_.lossy();
  }

  // One way alone, both ways between two, or from one to all others.
  void cut_ways() {
    const auto count = static_cast<int>(processes_.size());
    if (count < 2) return;
    const auto from = static_cast<size_t>(pick(0, count - 1));
    const auto to = (from + static_cast<size_t>(pick(1, count - 1))) % processes_.size();
    const int64_t until = now_ + (chance(0.8) ? pick(50, 1000) : pick(1000, 9000));
    const bool refused = chance(0.3), to_all = chance(0.2), back = chance(0.4);
    for (size_t other = 0; other < processes_.size(); ++other) {
      if (other == from || (other != to && !to_all)) continue;
      network_.cut_way(from, other, until, refused);
      if (back) network_.cut_way(other, from, until, refused);
    }
    say(fmt::format("p{} {} {}{} until {}", from, back ? "and" : "to", to_all ? "all" : fmt::format("p{}", to),
                    refused ? " refused" : " cut", until));
    ++counts.cut_ways;
  }

  void join(Process& process) {
    start(process);
    std::vector<std::string> contacts;
    for (const Process& other : processes_) {
      if (other.address != process.address) contacts.push_back(other.address);
    }
    process.membership->join(contacts, now_);
    say(process.address + " wants to join");
    ++counts.joins;
  }

  void heal() {
    network_.heal();
    for (Process& process : processes_) process.halted_until = 0;
    say("no more faults");
  }

  bool all_done() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const Process& process) {
      return !process.membership || process.membership->phase() == Membership::Phase::kEnded;
    });
  }

  void check_end() {
    bool anyone = false, alive = false;
    for (const Process& process : processes_) {
      anyone = anyone || process.complete;
      // Who finds nobody at any address that it knows may give up.
      const bool ended = process.membership && process.membership->phase() == Membership::Phase::kEnded;
      if (ended && !process.complete && process.membership->ending().code != static_cast<int>(ErrorCode::kPeerLost))
        violate(fmt::format("{} gave up: {}", process.address, process.membership->ending().text));
      alive = alive || (process.membership && !ended && newest_installed_.rank_of(process.membership->key()) >= 0);
    }
    counts.views = static_cast<int>(newest_installed_.number);
    if (anyone && all_done()) return;
    if (!alive && !anyone) {
      ++counts.all_lost;  // the latest view died as a whole: nobody is left to hold the state
      return;
    }
    for (const Process& process : processes_) {
      if (process.membership && !process.complete && process.membership->view().number > 0)
        violate(fmt::format("{} never finishes: view {}, step {}", process.address, process.membership->view().number,
                            process.moment.steps));
    }
  }

  Dice dice_;
  const bool verbose_, ledger_kept_;
  const MembershipSettings settings_;
  const std::optional<BadLink> bad_link_{};
  SimulatedNetwork network_;
  const Ways ways_ = Ways::kWhole;
  SimulatedRecord record_;
  Dice record_dice_;  // of its own: the schedules of the rest stay as they are
  std::map<int64_t, View> ledger_;
  int64_t now_ = 0;
  std::deque<Process> processes_;
  View newest_installed_;
  int64_t newest_view_ = 0, newest_step_ = 0;
  std::string violation_;
};

}  // namespace linac::comm
