#include "linac/train/comm/c10d/c10d_store.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstdlib>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "linac/base/base/error.h"
#include "linac/train/comm/meeting/sockets.h"

namespace linac::comm {
namespace {

// 127.0.0.0/8 and ::1, also where IPv6 says the former (RFC 4291, 2.5.5.2).
bool is_loopback_address(const sockaddr* address, socklen_t size) {
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in))
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  if (address->sa_family != AF_INET6 || size < sizeof(sockaddr_in6)) return false;
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == IN_LOOPBACKNET);
}

}  // namespace
}  // namespace linac::comm

// In place of the C library's in this whole program: c10d asks for the name of each address that it connects to, for
// its log alone. For 127.0.0.1, which it writes as ::ffff:127.0.0.1, no line of /etc/hosts stands, so the C library
// asks the name server, and one that does not answer holds up each worker of this host for seconds.
extern "C" int getnameinfo(const sockaddr* address, socklen_t size, char* host, socklen_t host_size, char* service,
                           socklen_t service_size, int flags) {
  using Function = int (*)(const sockaddr*, socklen_t, char*, socklen_t, char*, socklen_t, int);
  static const auto of_library = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getnameinfo"));
  const bool as_numbers = (flags & NI_NAMEREQD) == 0 && linac::comm::is_loopback_address(address, size);
  return of_library(address, size, host, host_size, service, service_size, as_numbers ? flags | NI_NUMERICHOST : flags);
}

namespace linac::comm {
namespace {

using Milliseconds = std::chrono::milliseconds;
constexpr std::chrono::seconds kAnswer{60};

using StorePointer = c10::intrusive_ptr<c10d::TCPStore>;

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

class C10dHost : public HostedStore {
 public:
  C10dHost(const std::string& addr, int port) {
    c10d::TCPStoreOptions options;
    // Given a port alone, c10d would listen on every interface.
    options.masterListenFd = listen_at(addr, port);
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    store_ = c10::make_intrusive<c10d::TCPStore>(host_to_call(addr), options);
  }
  int port() const override { return store_->getPort(); }
  bool check(const std::string& key) override { return store_->check({key}); }

 private:
  StorePointer store_;
};

class C10dStore : public KeyStore {
 public:
  // How long one connects says nothing of how long an answer may take.
  explicit C10dStore(StorePointer store) : store_(std::move(store)) { store_->setTimeout(kAnswer); }
  void set(const std::string& key, const std::string& text) override { base().set(key, text); }
  std::string get(const std::string& key) override { return base().get_to_str(key); }
  void wait(const std::string& key, Milliseconds limit) override { store_->wait({key}, limit); }
  bool check(const std::string& key) override { return store_->check({key}); }

 private:
  c10d::Store& base() { return *store_; }  // whose texts TCPStore hides

  StorePointer store_;
};

class C10dStores : public Stores {
 public:
  std::unique_ptr<HostedStore> host(const std::string& addr, int port) const override {
    quiet_c10d();
    try {
      return std::make_unique<C10dHost>(addr, port);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw environment_error(fmt::format("[comm] cannot serve the store at {} ({}); choose another port",
                                          host_and_port(addr, port), reason(error)));
    }
  }

  std::unique_ptr<KeyStore> reach(const std::string& addr, int port, Milliseconds limit) const override {
    quiet_c10d();
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(port);
    options.timeout = limit;
    options.waitWorkers = false;
    try {
      return std::make_unique<C10dStore>(c10::make_intrusive<c10d::TCPStore>(addr, options));
    } catch (const std::exception& error) {
      throw std::runtime_error(reason(error));
    }
  }
};

}  // namespace

const Stores& c10d_stores() {
  static const C10dStores stores;
  return stores;
}

std::unique_ptr<Group> make_group(const Rendezvous& rendezvous, const GroupSettings& settings) {
  return make_group(rendezvous, settings, c10d_stores());
}

}  // namespace linac::comm
