#include "linac/train/comm/founding/founding.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "linac/base/base/error.h"
#include "linac/train/comm/meeting/sockets.h"

namespace linac::comm {
namespace {

using Milliseconds = std::chrono::milliseconds;

// The first line without c10's backtrace.
std::string reason(const std::exception& error) {
  const auto* const with_backtrace = dynamic_cast<const c10::Error*>(&error);
  std::string text = with_backtrace != nullptr ? with_backtrace->what_without_backtrace() : error.what();
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

// c10d logs a failed connection with a backtrace, several times. Our errors say it once; who wants more asks c10d.
void quiet_c10d() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_FATAL;
}

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
  return fmt::format("linac/{}/{}", attempt, group);
}

// "2, 3, 7 and 12 others"
std::string missing_ranks(c10d::Store& store, int world_size) {
  constexpr int kNamed = 8;
  std::string names;
  int missing = 0;
  for (int rank = 0; rank < world_size; ++rank) {
    if (store.check({joined_key(rank)})) continue;
    if (++missing <= kNamed) names += fmt::format("{}{}", names.empty() ? "" : ", ", rank);
  }
  if (missing > kNamed) names += fmt::format(" and {} others", missing - kNamed);
  return names;
}

// Where rank 0 serves the store for those who know the master by this name.
std::string store_address(const std::string& master) {
  if (is_loopback(master)) return master == "::1" ? master : "127.0.0.1";
  return any_address();
}

// How a process reaches what listens at `addr` on its own machine.
std::string host_to_call(const std::string& addr) {
  return addr == "::1" ? addr : "127.0.0.1";
}

class TcpStoreHost : public HostedStore {
 public:
  TcpStoreHost(const std::string& addr, int port) {
    c10d::TCPStoreOptions options;
    // Given a port alone, c10d would listen on every interface.
    options.masterListenFd = listen_at(addr, port);
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    store_ = c10::make_intrusive<c10d::TCPStore>(host_to_call(addr), options);
  }
  int port() const override { return store_->getPort(); }
  bool founded() override {
    try {
      return store_->check({fmt::format("{}/{}", prefix(0, 0), kFounded)});
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

c10::intrusive_ptr<c10d::Store> connect(const Rendezvous& meet, bool hosted, Milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(meet.master_port);
  options.timeout = timeout;
  options.waitWorkers = false;
  // Later groups of this process, and later attempts of a launcher, must not read the addresses of earlier ones.
  static std::atomic<int> groups{0};
  try {
    return c10::make_intrusive<c10d::PrefixStore>(
        prefix(meet.attempt, groups++),
        c10::make_intrusive<c10d::TCPStore>(hosted ? host_to_call(store_address(meet.master_addr)) : meet.master_addr,
                                            options));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kPeerLost,
                fmt::format("[comm] rank {}: no answer from the store at {} ({}); check that rank 0 runs there and "
                            "that the port is open",
                            meet.rank, host_and_port(meet.master_addr, meet.master_port), reason(error)));
  }
}

}  // namespace

struct Founding::Store {
  std::unique_ptr<HostedStore> hosted;
  c10::intrusive_ptr<c10d::Store> keys;
};

Founding::Founding(const Rendezvous& rendezvous, Milliseconds timeout, const std::function<RunKey()>& find_key)
    : meet_(rendezvous), timeout_(timeout), store_(std::make_unique<Store>()) {
  quiet_c10d();
  broken_pipes_are_errors();
  if (meet_.rank == 0 && !meet_.agent_store)
    store_->hosted = host_store(store_address(meet_.master_addr), meet_.master_port);
  store_->keys = connect(meet_, store_->hosted != nullptr, timeout);
  if (meet_.rank == 0) {
    key_ = find_key();
    leave(kRun, draw_run());
  }
  wait_for(kRun);
  if (!key_) key_ = find_key();
  run_ = find(kRun);
}

Founding::~Founding() = default;

void Founding::leave(const std::string& place, const std::string& text) {
  store_->keys->set(place, key_->seal(run_ + "/" + place, text));
}

std::string Founding::find(const std::string& place) {
  const auto text = key_->open(run_ + "/" + place, store_->keys->get_to_str(place));
  if (text) return *text;
  throw user_error(
      fmt::format("[comm] rank {}: '{}' at {} was not left there with this worker's key; workers that do not share the "
                  "run's folder "
                  "need the same {} (`openssl rand -hex 32`), or a stranger writes to that port",
                  meet_.rank, place, host_and_port(meet_.master_addr, meet_.master_port), kRunKeyVariable));
}

void Founding::wait_for(const std::string& place) {
  std::string missing = "0";
  try {
    return store_->keys->wait({place}, timeout_);
  } catch (const std::exception&) {
    try {
      missing = missing_ranks(*store_->keys, meet_.world_size);
    } catch (const std::exception&) {
      // The store itself is gone, and rank 0 or the launcher with it.
    }
  }
  throw Error(
      ErrorCode::kPeerLost,
      fmt::format("[comm] rank {}: of {} ranks, {} did not join within {:.1f} s (environment of {}); check "
                  "that all workers were started",
                  meet_.rank, meet_.world_size, missing, static_cast<double>(timeout_.count()) / 1000, meet_.source));
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
  store_->keys->set(read_key(meet_.rank), std::string("1"));
  for (int rank = 0; meet_.rank == 0 && rank < meet_.world_size; ++rank) wait_for(read_key(rank));
  if (meet_.rank == 0) store_->keys->set(kFounded, std::string("1"));
  return first;
}

std::string draw_run() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
}

std::string own_address(const Rendezvous& meet, const std::string& other) {
  if (!meet.interface.empty()) return interface_address(meet.interface);
  if (is_loopback(other)) return other == "::1" ? other : "127.0.0.1";
  return local_address_towards(other, std::max(1, meet.master_port));
}

std::unique_ptr<HostedStore> host_store(const std::string& addr, int port) {
  quiet_c10d();
  broken_pipes_are_errors();
  try {
    return std::make_unique<TcpStoreHost>(addr, port);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw environment_error(fmt::format("[comm] cannot serve the store at {} ({}); choose another port",
                                        host_and_port(addr, port), reason(error)));
  }
}

}  // namespace linac::comm
