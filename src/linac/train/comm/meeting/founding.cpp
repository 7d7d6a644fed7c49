#include "linac/train/comm/meeting/founding.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/signals.h"
#include "linac/train/comm/meeting/sockets.h"

namespace linac::comm {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// While one waits for others: how often it looks whether it is asked to stop, and when it says for whom it waits.
constexpr Milliseconds kLook{1000}, kPatience{10'000};  // or half of the time, where that is shorter

std::string joined_key(int rank) {
  return fmt::format("joined/{}", rank);
}

std::string read_key(int rank) {
  return fmt::format("read/{}", rank);
}

constexpr const char* kRun = "run";
constexpr const char* kView = "view";
constexpr const char* kFounded = "founded";

std::string prefix(int attempt, int group) {
  return fmt::format("linac/{}/{}/", attempt, group);
}

// Later groups of this process, and later attempts of a launcher, must not read the addresses of earlier ones.
std::string next_prefix(int attempt) {
  static std::atomic<int> groups{0};
  return prefix(attempt, groups++);
}

// Where rank 0 serves the store for those who know the master by this name.
std::string store_address(const std::string& master) {
  if (is_loopback(master)) return master == "::1" ? master : "127.0.0.1";
  return any_address();
}

}  // namespace

Founding::Founding(const Rendezvous& rendezvous, const Stores& stores, Milliseconds timeout,
                   const std::function<RunKey()>& find_key, const std::function<std::string()>& name_run)
    : meet_(rendezvous), timeout_(timeout), prefix_(next_prefix(rendezvous.attempt)) {
  connect(stores);
  if (meet_.rank == 0) {
    key_ = find_key();
    leave(kRun, name_run());
  }
  wait_for(kRun);
  if (!key_) key_ = find_key();
  run_ = find(kRun);
}

std::string Founding::key_of(const std::string& place) const {
  return prefix_ + place;
}

void Founding::connect(const Stores& stores) {
  broken_pipes_are_errors();
  std::string host = meet_.master_addr;
  if (meet_.rank == 0 && !meet_.agent_store) {
    const std::string served = store_address(meet_.master_addr);
    hosted_ = host_store(stores, served, meet_.master_port);
    host = host_to_call(served);
  }
  const auto failure = try_for_long([&](Milliseconds limit) { keys_ = stores.reach(host, meet_.master_port, limit); },
                                    [] { return "0"; });
  if (!failure) return;
  const std::string at = host_and_port(meet_.master_addr, meet_.master_port);
  if (!meet_.relay.empty())
    throw Error(ErrorCode::kPeerLost,
                fmt::format("[comm] rank {}: no answer of rank 0 by the relay {} ({}); check that `linac relay` runs "
                            "there, that this host and those of rank 0 reach it, and that rank 0 was started",
                            meet_.rank, at, *failure));
  throw Error(ErrorCode::kPeerLost,
              fmt::format("[comm] rank {}: no answer from the store at {} ({}); check that rank 0 runs there and "
                          "that the port is open",
                          meet_.rank, at, *failure));
}

// Attempts of a second each while there is time, with looks between them; the last one's reason if all fail.
std::optional<std::string> Founding::try_for_long(const std::function<void(Milliseconds limit)>& attempt,
                                                  const Who& who) {
  for (const auto end = Clock::now() + timeout_;;) {
    const auto begin = Clock::now();
    const auto left = std::chrono::duration_cast<Milliseconds>(end - begin);
    try {
      attempt(std::clamp(left, Milliseconds(1), kLook));
      return std::nullopt;
    } catch (const std::exception& error) {
      look_up(who);
      // One that fails at once has not waited: what it asks is gone.
      if (left <= kLook || Clock::now() - begin < kLook / 2) return error.what();
    }
  }
}

// Between two looks of one who waits.
void Founding::look_up(const Who& who) {
  if (const int signal = stop_signal(); signal != 0) {
    throw Error(ErrorCode::kPreempted, fmt::format("[comm] rank {}: asked to stop ({}) while it waited for rank {}",
                                                   meet_.rank, strsignal(signal), who()));
  }
  if (told_ || Clock::now() - begin_ < std::min(kPatience, timeout_ / 2)) return;
  told_ = true;
  log::warn(
      fmt::format("[comm] rank {} waits for rank {} of {} at {} (environment of {}), up to {:.0f} s; check that "
                  "all workers were started",
                  meet_.rank, who(), meet_.world_size, host_and_port(meet_.master_addr, meet_.master_port),
                  meet_.source, static_cast<double>(timeout_.count()) / 1000));
}

// "2, 3, 7 and 12 others"
std::string Founding::missing_ranks() {
  constexpr int kNamed = 8;
  std::string names;
  int missing = 0;
  for (int rank = 0; rank < meet_.world_size; ++rank) {
    if (keys_->check(key_of(joined_key(rank)))) continue;
    if (++missing <= kNamed) names += fmt::format("{}{}", names.empty() ? "" : ", ", rank);
  }
  if (missing > kNamed) names += fmt::format(" and {} others", missing - kNamed);
  return names;
}

void Founding::leave(const std::string& place, const std::string& text) {
  keys_->set(key_of(place), key_->seal(run_ + "/" + place, text));
}

std::string Founding::find(const std::string& place) {
  const auto text = key_->open(run_ + "/" + place, keys_->get(key_of(place)));
  if (text) return *text;
  throw user_error(
      fmt::format("[comm] rank {}: '{}' at {} was not left there with this worker's key; workers that do not share the "
                  "run's folder "
                  "need the same {} (`openssl rand -hex 32`), or a stranger writes to that port",
                  meet_.rank, place, host_and_port(meet_.master_addr, meet_.master_port), kRunKeyVariable));
}

void Founding::wait_for(const std::string& place) {
  const auto missing = [&]() -> std::string {
    try {
      return missing_ranks();
    } catch (const std::exception&) {
      return "0";  // the store itself is gone, and rank 0 or the launcher with it
    }
  };
  if (!try_for_long([&](Milliseconds limit) { keys_->wait(key_of(place), limit); }, missing)) return;
  throw Error(
      ErrorCode::kPeerLost,
      fmt::format("[comm] rank {}: of {} ranks, {} did not join within {:.1f} s (environment of {}); check "
                  "that all workers were started{}",
                  meet_.rank, meet_.world_size, missing(), static_cast<double>(timeout_.count()) / 1000, meet_.source,
                  meet_.relay.empty() ? "" : ", and that their hosts and this one reach the relay " + meet_.relay));
}

// Rank 0 reads what all have left and writes the view down for them, so that what the store answers grows with their
// number and not with its square.
View Founding::meet(const Member& self) {
  leave(joined_key(meet_.rank), nlohmann::json(self).dump());
  if (meet_.rank == 0) {
    View first{.number = 1, .members = {}, .next_seniority = meet_.world_size};
    for (int rank = 0; rank < meet_.world_size; ++rank) {
      wait_for(joined_key(rank));
      first.members.push_back(nlohmann::json::parse(find(joined_key(rank))).get<Member>());
      first.members.back().seniority = rank;
    }
    leave(kView, nlohmann::json(first).dump());
  }
  wait_for(kView);
  View first = nlohmann::json::parse(find(kView)).get<View>();
  // The store of rank 0 must not go away while others still read.
  keys_->set(key_of(read_key(meet_.rank)), "1");
  for (int rank = 0; meet_.rank == 0 && rank < meet_.world_size; ++rank) wait_for(read_key(rank));
  if (meet_.rank == 0) keys_->set(key_of(kFounded), "1");
  return first;
}

std::string own_address(const Rendezvous& meet, const std::string& other) {
  if (!meet.interface.empty()) return interface_address(meet.interface);
  if (is_loopback(other)) return other == "::1" ? other : "127.0.0.1";
  return local_address_towards(other, std::max(1, meet.master_port));
}

std::unique_ptr<HostedStore> host_store(const Stores& stores, const std::string& addr, int port) {
  broken_pipes_are_errors();
  return stores.host(addr, port);
}

void tell_founded(const Stores& stores, const Rendezvous& meet, Milliseconds limit) {
  try {
    const auto store = stores.reach(meet.master_addr, meet.master_port, limit);
    store->set(prefix(0, 0) + kFounded, "1");
    store->check(prefix(0, 0) + kFounded);  // an answer: it has arrived
  } catch (const std::exception& error) {
    log::warn(fmt::format("[comm] the launcher was not told that the run has begun ({})", error.what()));
  }
}

bool founded(HostedStore& store) {
  try {
    return store.check(prefix(0, 0) + kFounded);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace linac::comm
