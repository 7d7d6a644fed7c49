#include "linac/control/http/server/guests.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <chrono>

namespace linac::http {
namespace {

int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// Who shall give way first.
bool sooner(const Guest& a, const Guest& b) {
  return a.proven() != b.proven() ? !a.proven() : a.waiting_since() < b.waiting_since();
}

std::shared_ptr<Guest> first_to_go(const std::vector<std::weak_ptr<Guest>>& places) {
  std::shared_ptr<Guest> first;
  for (const auto& place : places) {
    auto guest = place.lock();
    if (guest && guest->waiting_since() != 0 && (!first || sooner(*guest, *first))) first = std::move(guest);
  }
  return first;
}

void forget(std::vector<std::weak_ptr<Guest>>& places, const std::shared_ptr<Guest>& guest) {
  std::erase_if(places, [&](const auto& place) { return place.lock() == guest; });
}

}  // namespace

void Guest::waits() {
  since_ = now();
}

void Guest::works() {
  since_ = 0;
  proven_ = true;
}

std::string Guests::network_of(const std::string& address) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  if (error || parsed.is_v4() || parsed.to_v6().is_v4_mapped()) return address;
  const auto bytes = parsed.to_v6().to_bytes();
  return std::string(bytes.begin(), bytes.begin() + 8);
}

size_t Guests::alive(std::vector<std::weak_ptr<Guest>>& places) {
  std::erase_if(places, [](const auto& place) { return place.expired(); });
  return places.size();
}

/// Asks one to end, and counts it no longer; false if all are at work.
bool Guests::give_way(std::vector<std::weak_ptr<Guest>>& places) {
  const auto guest = first_to_go(places);
  if (!guest) return false;
  forget(places, guest);
  guest->end();
  return true;
}

bool Guests::make_room_among_all() {
  std::vector<std::weak_ptr<Guest>> all;
  for (auto at = places_.begin(); at != places_.end();) {
    if (alive(at->second) == 0) {
      at = places_.erase(at);
      continue;
    }
    all.insert(all.end(), at->second.begin(), at->second.end());
    ++at;
  }
  if (static_cast<int>(all.size()) < most_) return true;
  const auto guest = first_to_go(all);
  if (!guest) return false;
  forget(places_[network_of(guest->address())], guest);
  guest->end();
  return true;
}

std::shared_ptr<Guest> Guests::enter(const std::string& address, bool bounded, std::function<void()> end) {
  const std::string network = network_of(address);
  const std::lock_guard lock(mutex_);
  if (*count_ >= most_ && !make_room_among_all()) return nullptr;
  auto& places = places_[network];
  const auto full = [&] { return bounded && static_cast<int>(places.size()) >= most_of_address_; };
  if (full()) alive(places);
  if (full() && !give_way(places)) return nullptr;
  std::shared_ptr<Guest> guest(new Guest(address, std::move(end)), [count = count_](Guest* gone) {
    delete gone;
    --*count;
  });
  ++*count_;
  guest->waits();
  places.push_back(guest);
  return guest;
}

}  // namespace linac::http
