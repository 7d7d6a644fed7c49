#include "linac/comm/group_gloo.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "linac/base/error.h"
#include "linac/comm/sockets.h"
#include "linac/comm/store_host.h"

namespace linac::comm {
namespace {

using Milliseconds = std::chrono::milliseconds;

// The reason without c10's backtrace and without Gloo's leading "[source file:line] ", which may come twice.
std::string reason(const std::exception& error) {
  const auto* const with_backtrace = dynamic_cast<const c10::Error*>(&error);
  std::string text = with_backtrace != nullptr ? with_backtrace->what_without_backtrace() : error.what();
  while (text.starts_with("[/") || text.starts_with("[..")) {
    const size_t end = text.find("] ");
    if (end == std::string::npos) break;
    text.erase(0, end + 2);
  }
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

// c10d logs a failed connection with a backtrace, several times. Our errors say it once; who wants more asks c10d.
void quiet_c10d() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_FATAL;
}

// Gloo and c10d's store write to a connection whose other end may have died. That is an error of the call, told as
// kPeerLost; the signal that comes with it by default would end the process without a word. A handler of the program's
// own stays.
void broken_pipes_are_errors() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

at::Tensor view_of(const std::byte* data, size_t size) {
  return at::from_blob(const_cast<std::byte*>(data), {static_cast<int64_t>(size)}, at::kByte);
}

std::string joined_key(int rank) {
  return fmt::format("joined/{}", rank);
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

std::shared_ptr<gloo::transport::Device> device_for(const Rendezvous& meet) {
  if (!meet.interface.empty()) return c10d::ProcessGroupGloo::createDeviceForInterface(meet.interface);
  if (is_loopback(meet.master_addr)) return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  return c10d::ProcessGroupGloo::createDeviceForHostname(local_address_towards(meet.master_addr, meet.master_port));
}

class GlooGroup : public Group {
 public:
  GlooGroup(const Rendezvous& meet, Milliseconds timeout) : Group(meet.rank, meet.world_size), timeout_(timeout) {
    if (meet.rank == 0 && !meet.agent_store) {
      hosted_ = host_store(is_loopback(meet.master_addr) ? "127.0.0.1" : "0.0.0.0", meet.master_port);
    }
    const auto store = connect(meet);
    wait_for_all(meet, *store);
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(device_for(meet));
    options->threads = 1;  // serves only the collectives of c10d, which are not used
    try {
      backend_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, meet.rank, meet.world_size, options);
    } catch (const std::exception& error) {
      throw Error(ErrorCode::kPeerLost,
                  fmt::format("[comm] rank {}: cannot connect to the other ranks ({}); check that the machines reach "
                              "each other, or set GLOO_SOCKET_IFNAME",
                              meet.rank, reason(error)));
    }
    barrier();  // rank 0 must not take its store away while others still look up addresses
  }

 private:
  c10::intrusive_ptr<c10d::Store> connect(const Rendezvous& meet) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(meet.master_port);
    options.timeout = timeout_;
    options.waitWorkers = false;
    // Later groups of this process, and later attempts of a launcher, must not read the addresses of earlier ones.
    static std::atomic<int> groups{0};
    const std::string prefix = fmt::format("linac/{}/{}", meet.attempt, groups++);
    try {
      return c10::make_intrusive<c10d::PrefixStore>(
          prefix, c10::make_intrusive<c10d::TCPStore>(hosted_ ? "127.0.0.1" : meet.master_addr, options));
    } catch (const std::exception& error) {
      throw Error(
          ErrorCode::kPeerLost,
          fmt::format("[comm] rank {}: no answer from the store at {}:{} ({}); check that rank 0 runs there and "
                      "that the port is open",
                      meet.rank, meet.master_addr, meet.master_port, reason(error)));
    }
  }

  void wait_for_all(const Rendezvous& meet, c10d::Store& store) {
    std::vector<std::string> keys;
    for (int rank = 0; rank < meet.world_size; ++rank) keys.push_back(joined_key(rank));
    std::string missing = "0";
    try {
      store.set(joined_key(meet.rank), std::string("1"));
      store.wait(keys, timeout_);
      return;
    } catch (const std::exception&) {
      try {
        missing = missing_ranks(store, meet.world_size);
      } catch (const std::exception&) {
        // The store itself is gone, and rank 0 or the launcher with it.
      }
    }
    throw Error(
        ErrorCode::kPeerLost,
        fmt::format("[comm] rank {}: of {} ranks, {} did not join within {:.1f} s (environment of {}); check that "
                    "all workers were started",
                    meet.rank, meet.world_size, missing, timeout_.count() / 1000.0, meet.source));
  }

  void send_bytes(std::span<const std::byte> data, int to, int tag) override {
    std::vector<at::Tensor> tensors{view_of(data.data(), data.size())};
    wait(backend_->send(tensors, to, tag));
  }

  void receive_bytes(std::span<std::byte> data, int from, int tag) override {
    std::vector<at::Tensor> tensors{view_of(data.data(), data.size())};
    wait(backend_->recv(tensors, from, tag));
  }

  void wait(const c10::intrusive_ptr<c10d::Work>& work) {
    try {
      work->wait(timeout_);
    } catch (const std::exception& error) {
      throw std::runtime_error(reason(error));
    }
  }

  void close() noexcept override { backend_.reset(); }

  Milliseconds timeout_;
  std::unique_ptr<HostedStore> hosted_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> backend_;
};

class TcpStoreHost : public HostedStore {
 public:
  TcpStoreHost(const std::string& addr, int port) {
    c10d::TCPStoreOptions options;
    // Given a port alone, c10d would listen on every interface.
    options.masterListenFd = listen_at(addr, port);
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    store_ = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  }
  int port() const override { return store_->getPort(); }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

}  // namespace

std::unique_ptr<Group> make_gloo_group(const Rendezvous& rendezvous, Milliseconds timeout) {
  quiet_c10d();
  broken_pipes_are_errors();
  return std::make_unique<GlooGroup>(rendezvous, timeout);
}

std::unique_ptr<HostedStore> host_store(const std::string& addr, int port) {
  quiet_c10d();
  broken_pipes_are_errors();
  try {
    return std::make_unique<TcpStoreHost>(addr, port);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw environment_error(
        fmt::format("[comm] cannot serve the store at {}:{} ({}); choose another port", addr, port, reason(error)));
  }
}

}  // namespace linac::comm
