#pragma once
// Whose change the writer carries out next: that of him for whom it has worked the least of late, so a small change
// waits for the one that is being made and for none behind it, however many and however long ones another user has
// waiting (start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996). Of one user they stay in their order. Not
// thread-safe.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

struct WaitingWrite {
  std::string who;
  std::function<void(Database&)> work;
  std::function<void(std::exception_ptr)> done;
  std::exception_ptr error{};
  std::chrono::microseconds expected{}, taken{};  // on the writer's thread
};

class WriteTurns {
 public:
  size_t size() const { return size_; }
  void add(WaitingWrite write);
  /// How long the next one will take, as the last one of his did. There is one.
  std::chrono::microseconds expected() const;
  /// Takes the next one.
  WaitingWrite next();
  /// One that was taken and not carried out waits again, in front of its user's others.
  void give_back(WaitingWrite write);
  /// Of one that was carried out: what it took.
  void charge(const WaitingWrite& write);

 private:
  struct User {
    std::deque<WaitingWrite> waiting;
    int64_t paid_us = 0;   // of the writer's time, counted on from where those who waited stood when he came
    int64_t last_us = 0;   // of his last one
    uint64_t arrival = 0;  // among those who have paid the same
  };
  using Order = std::set<std::tuple<int64_t, uint64_t, std::string>>;
  void queue(const std::string& who, User& user);
  void unqueue(const std::string& who, const User& user) { order_.erase({user.paid_us, user.arrival, who}); }
  void forget_idle();

  std::unordered_map<std::string, User> users_;
  Order order_;  // of those who wait
  int64_t clock_us_ = 0;
  uint64_t arrivals_ = 0;
  size_t size_ = 0;
};

}  // namespace linac::catalog
