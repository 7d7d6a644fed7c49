#pragma once
// The connections that there are, counted by address: none takes all of them. Where there is no room, the one gives way
// that has waited longest for a request, first of those that never sent one; so half requests keep nobody out.
// Thread-safe.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace linac::http {

/// A connection's place, for as long as it is held.
class Guest {
 public:
  Guest(std::string address, std::function<void()> end) : address_(std::move(address)), end_(std::move(end)) {}
  void waits();  // for a request
  void works();  // at one
  const std::string& address() const { return address_; }
  int64_t waiting_since() const { return since_; }  // 0: it works
  bool proven() const { return proven_; }           // has sent a request
  /// Asks it to end; from any thread, once.
  void end() const { end_(); }

 private:
  const std::string address_;
  const std::function<void()> end_;
  std::atomic<int64_t> since_ = 0;
  std::atomic<bool> proven_ = false;
};

class Guests {
 public:
  Guests(int most, int most_of_address) : most_(most), most_of_address_(most_of_address) {}
  /// `end` is called when this one has to give way. Null if there is no room. `bounded` false: only the number of all
  /// counts, for a proxy that speaks for many.
  std::shared_ptr<Guest> enter(const std::string& address, bool bounded, std::function<void()> end);
  /// What counts as one address: of IPv6 the network that somebody is given as a whole (/64).
  static std::string network_of(const std::string& address);

 private:
  using Places = std::unordered_map<std::string, std::vector<std::weak_ptr<Guest>>>;
  static bool give_way(std::vector<std::weak_ptr<Guest>>& places);
  static size_t alive(std::vector<std::weak_ptr<Guest>>& places);
  bool make_room_among_all();

  const int most_, most_of_address_;
  std::mutex mutex_;
  Places places_;
  std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace linac::http
