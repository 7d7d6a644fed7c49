#include "linac/train/comm/c10d/c10d_store.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "linac/base/base/error.h"
#include "linac/train/comm/meeting/sockets.h"

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
