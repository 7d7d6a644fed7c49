#include "linac/control/catalog/write_turns.h"

#include <algorithm>
#include <utility>

namespace linac::catalog {
namespace {

constexpr size_t kRememberedMax = 1024;  // users who wait for nothing
constexpr int64_t kLeast_us = 1;         // so that equals take turns

}  // namespace

void WriteTurns::queue(const std::string& who, User& user) {
  user.arrival = ++arrivals_;
  order_.emplace(user.paid_us, user.arrival, who);
}

void WriteTurns::add(WaitingWrite write) {
  if (!users_.contains(write.who)) forget_idle();
  User& user = users_[write.who];
  if (user.waiting.empty()) {
    user.paid_us = std::max(user.paid_us, clock_us_);
    queue(write.who, user);
  }
  user.waiting.push_back(std::move(write));
  ++size_;
}

std::chrono::microseconds WriteTurns::expected() const {
  return std::chrono::microseconds(users_.at(std::get<2>(*order_.begin())).last_us);
}

WaitingWrite WriteTurns::next() {
  const std::string who = std::get<2>(*order_.begin());
  User& user = users_.at(who);
  order_.erase(order_.begin());
  WaitingWrite write = std::move(user.waiting.front());
  user.waiting.pop_front();
  --size_;
  clock_us_ = std::max(clock_us_, user.paid_us);
  write.expected = std::chrono::microseconds(std::max(kLeast_us, user.last_us));
  user.paid_us += write.expected.count();
  if (!user.waiting.empty()) queue(who, user);
  return write;
}

void WriteTurns::give_back(WaitingWrite write) {
  User& user = users_[write.who];
  if (!user.waiting.empty()) unqueue(write.who, user);
  user.paid_us -= write.expected.count();
  order_.emplace(user.paid_us, user.arrival, write.who);
  user.waiting.push_front(std::move(write));
  ++size_;
}

void WriteTurns::charge(const WaitingWrite& write) {
  const auto found = users_.find(write.who);
  if (found == users_.end()) return;
  User& user = found->second;
  if (!user.waiting.empty()) unqueue(write.who, user);
  user.last_us = std::max<int64_t>(kLeast_us, write.taken.count());
  user.paid_us += user.last_us - write.expected.count();
  if (!user.waiting.empty()) order_.emplace(user.paid_us, user.arrival, write.who);
}

void WriteTurns::forget_idle() {
  if (users_.size() < kRememberedMax) return;
  std::erase_if(users_,
                [&](const auto& user) { return user.second.waiting.empty() && user.second.paid_us <= clock_us_; });
}

}  // namespace linac::catalog
