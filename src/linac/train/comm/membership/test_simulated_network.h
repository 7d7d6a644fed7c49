#pragma once
// A network in simulated time, for tests: packets that are late, lost, reordered or refused, partitions, and ways from
// one process to another that are cut. All follows from the dice. Used by one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "linac/train/comm/membership/membership.h"

namespace linac::comm {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t number() { return random_(); }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(double probability) { return std::uniform_real_distribution<>()(random_) < probability; }

 private:
  std::mt19937_64 random_;
};

// What the training says, beside the membership: a part of a step, or a state for those that have none.
struct Training {
  int64_t view = 0;
  Moment moment;
  uint64_t value = 0;
  bool is_state = false;
};

// From one process to another nothing arrives, or neither way; or only the data do not.
struct BadLink {
  size_t from = 0, to = 0;
  bool both_ways = false, data_alone = false;
};

struct Packet {
  int64_t due = 0, order = 0;
  size_t from = 0, to = 0;  // processes
  std::optional<Message> message{};
  std::optional<Training> training{};
  uint64_t training_from = 0;
  bool refusal = false, reset = false;  // reset: by the network, whatever listens there
  bool operator<(const Packet& other) const { return std::tie(due, order) > std::tie(other.due, other.order); }
};

class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(Dice& dice, const std::optional<BadLink>& bad_link = {})
      : dice_(dice), bad_link_(bad_link) {}

  /// May lose it; `faulty`: more often, and some packets take long.
  void post(Packet packet, int64_t now, bool faulty) {
    if (faulty && dice_.chance(lossy_ ? 0.2 : 0.002)) return;
    packet.due = now + delay(faulty);
    packet.order = order_++;
    packets_.push(std::move(packet));
  }

  /// The sender learns that nobody listens there.
  void refuse(const Packet& packet, bool reset, int64_t now, bool faulty) {
    post({.from = packet.to, .to = packet.from, .refusal = true, .reset = reset}, now, faulty);
  }

  /// The next packet that arrives by now. What a cut has swallowed is not among them.
  std::optional<Packet> take(int64_t now, bool faulty) {
    while (!packets_.empty() && packets_.top().due <= now) {
      Packet packet = packets_.top();
      packets_.pop();
      if (!packet.reset && is_cut(packet, now)) {
        if (resets(packet) && packet.message) refuse(packet, true, now, faulty);
        continue;
      }
      if (bad_link_ && swallows(packet.from, packet.to, packet.training.has_value())) continue;
      return packet;
    }
    return {};
  }

  /// It arrives later: the receiver stands still.
  void put_off(Packet packet, int64_t due) {
    packet.due = due;
    packets_.push(std::move(packet));
  }

  /// Whether the link that is bad all the time takes nothing of the kind from one to the other.
  bool swallows(size_t from, size_t to, bool data) const {
    if (!bad_link_ || (bad_link_->data_alone && !data)) return false;
    const bool forth = from == bad_link_->from && to == bad_link_->to;
    const bool back = from == bad_link_->to && to == bad_link_->from;
    return forth || (back && bad_link_->both_ways);
  }

  bool divided() const { return !side_.empty(); }
  bool resets() const { return resets_; }
  void divide(size_t processes) {
    for (size_t i = 0; i < processes; ++i) side_.push_back(dice_.pick(0, 1));
    resets_ = dice_.chance(0.5);
  }
  void unite() { side_.clear(); }
  void one_more_process() {
    if (divided()) side_.push_back(dice_.pick(0, 1));
  }
  /// From now on much is lost, or no longer.
  void change_weather() { lossy_ = !lossy_ && dice_.chance(0.3); }
  bool lossy() const { return lossy_; }
  /// From one to the other nothing gets for a while; `refused`: the sender is told that nobody is there.
  void cut_way(size_t from, size_t to, int64_t until, bool refused) { ways_[{from, to}] = {until, refused}; }

  void heal() {
    unite();
    ways_.clear();
    lossy_ = false;
  }

 private:
  struct Cut {
    int64_t until = 0;
    bool refused = false;
  };

  int64_t delay(bool faulty) {
    if (faulty && dice_.chance(0.01)) return dice_.pick(500, 4000);
    return dice_.pick(0, 60);
  }
  bool parted(const Packet& packet) const { return divided() && side_[packet.from] != side_[packet.to]; }
  bool is_cut(const Packet& packet, int64_t now) {
    if (const auto way = ways_.find({packet.from, packet.to}); way != ways_.end() && way->second.until <= now)
      ways_.erase(way);
    return parted(packet) || ways_.contains({packet.from, packet.to});
  }
  bool resets(const Packet& packet) const {
    return parted(packet) ? resets_ : ways_.at({packet.from, packet.to}).refused;
  }

  Dice& dice_;
  const std::optional<BadLink> bad_link_;
  int64_t order_ = 0;
  std::priority_queue<Packet> packets_;
  std::vector<int> side_;  // of the partition
  std::map<std::pair<size_t, size_t>, Cut> ways_;
  bool lossy_ = false, resets_ = false;
};

}  // namespace linac::comm
