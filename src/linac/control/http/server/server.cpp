#include "linac/control/http/server/server.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <future>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/control/http/server/connection.h"

namespace linac::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct Worker {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
  Idle idle;
  LargeTurns large_turns{io};
  std::thread thread;
};

std::unique_ptr<asio::ssl::context> new_context() {
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code ignored;
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_compression, ignored);
  SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION);
  return tls;
}

std::unique_ptr<asio::ssl::context> tls_context(const ServerSettings& settings) {
  if (settings.tls_certificate.empty()) return nullptr;
  auto tls = new_context();
  error_code error;
  tls->use_certificate_chain_file(settings.tls_certificate.string(), error);
  if (error)
    throw user_error(fmt::format("[serve] {}: no certificate ({}); give a PEM file with --tls-cert",
                                 settings.tls_certificate.string(), error.message()));
  tls->use_private_key_file(settings.tls_key.string(), asio::ssl::context::pem, error);
  if (error)
    throw user_error(fmt::format("[serve] {}: no key of this certificate ({}); give a PEM file with --tls-key",
                                 settings.tls_key.string(), error.message()));
  return tls;
}

std::unique_ptr<asio::ssl::context> own_context(const ServerSettings& settings) {
  if (settings.own_pem.empty() || !settings.tls_certificate.empty()) return nullptr;
  auto tls = new_context();
  tls->use_certificate_chain(asio::buffer(settings.own_pem));
  tls->use_private_key(asio::buffer(settings.own_pem), asio::ssl::context::pem);
  return tls;
}

}  // namespace

class Server::Implementation {
 public:
  Implementation(Dispatcher& dispatcher, Traffic& traffic, const ServerSettings& settings,
                 std::function<void()> end_events)
      : dispatcher_(dispatcher),
        traffic_(traffic),
        uploads_(settings.uploads),
        end_events_(std::move(end_events)),
        proxies_(settings.proxies),
        keep_free_(settings.keep_free),
        guests_(settings.connections_max, settings.connections_of_address_max),
        tls_(tls_context(settings)),
        own_(own_context(settings)) {
    for (int i = 0; i < settings.threads; ++i) workers_.push_back(std::make_unique<Worker>());
    acceptor_ = std::make_unique<tcp::acceptor>(workers_[0]->io);
    const tcp::endpoint endpoint(asio::ip::make_address(settings.host), settings.port);
    error_code error;
    if (settings.socket >= 0) {
      acceptor_->assign(endpoint.protocol(), settings.socket, error);
    } else {
      acceptor_->open(endpoint.protocol(), error);
      if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
      if (!error) acceptor_->bind(endpoint, error);
      if (!error) acceptor_->listen(4096, error);
    }
    if (error)
      throw environment_error(
          fmt::format("[serve] {}:{}: cannot listen there ({}); choose another address with --listen", settings.host,
                      settings.port, error.message()));
    port_ = acceptor_->local_endpoint().port();
    asio::co_spawn(workers_[0]->io, accept(), asio::detached);
    for (auto& worker : workers_) worker->thread = std::thread([&io = worker->io] { io.run(); });
  }

  ~Implementation() { stop(); }

  uint16_t port() const { return port_; }

  void stop() {
    if (traffic_.stopping.exchange(true)) return;
    end_events_();
    asio::post(workers_[0]->io, [this] {
      error_code ignored;
      acceptor_->close(ignored);
    });
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(kFinishSeconds);
    while (traffic_.connections > 0 && std::chrono::steady_clock::now() < limit) {
      for (auto& worker : workers_)
        asio::post(worker->io, [&idle = worker->idle] {
          for (Stream* stream : idle) stream->cancel();
        });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (const int64_t left = traffic_.connections; left > 0)
      log::warn(fmt::format("[serve] {} connections did not finish in {} s and are cut", left, kFinishSeconds));
    for (auto& worker : workers_) {
      worker->guard.reset();
      worker->io.stop();
      worker->thread.join();
    }
  }

 private:
  Task<void> accept() {
    constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
    asio::steady_timer pause(workers_[0]->io);
    for (size_t next = 0; !traffic_.stopping; next = (next + 1) % workers_.size()) {
      Worker& worker = *workers_[next];
      auto [failure, socket] = co_await acceptor_->async_accept(worker.io, kTuple);
      error_code error = failure;
      if (traffic_.stopping) co_return;
      if (error) {  // too many open files, most likely
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(kTuple);
        continue;
      }
      ++traffic_.connections_total;
      const auto peer = socket.remote_endpoint(error);
      if (error) continue;
      const std::string from = peer.address().to_string();
      // Found by what the thread of the connection knows of it: the connection itself may be gone by then.
      const auto stream = std::make_shared<Stream*>(nullptr);
      const auto end = [&worker, stream] {
        asio::post(worker.io, [&idle = worker.idle, stream] {
          if (idle.contains(*stream)) (*stream)->cancel();
        });
      };
      auto guest = guests_.enter(from, !proxies_.contains(from), end);
      if (!guest) {
        ++traffic_.refused_connections_total;
        continue;  // closes it
      }
      ++traffic_.connections;
      const ConnectionPlace place{dispatcher_,        traffic_,   uploads_,   worker.idle,
                                  worker.large_turns, tls_.get(), own_.get(), keep_free_};
      asio::co_spawn(worker.io, converse(place, std::move(socket), from, std::move(guest), stream), asio::detached);
    }
  }

  Dispatcher& dispatcher_;
  Traffic& traffic_;
  const std::filesystem::path uploads_;
  const std::function<void()> end_events_;
  const TrustedProxies proxies_;
  const int64_t keep_free_;
  Guests guests_;
  std::unique_ptr<asio::ssl::context> tls_, own_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<tcp::acceptor> acceptor_;
  uint16_t port_ = 0;
};

Server::Server(Dispatcher& dispatcher, Traffic& traffic, const ServerSettings& settings,
               std::function<void()> end_events)
    : implementation_(std::make_unique<Implementation>(dispatcher, traffic, settings, std::move(end_events))) {}
Server::~Server() = default;

uint16_t Server::port() const {
  return implementation_->port();
}

void Server::stop() {
  implementation_->stop();
}

Address parse_address(const std::string& text) {
  const auto refuse = [&](const char* why) {
    return user_error(
        fmt::format("[serve] --listen {}: {} (wanted: ADDRESS:PORT, e.g. 127.0.0.1:5000 or [::1]:5000)", text, why));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw refuse("no port");
  Address address;
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty() || address.host == "localhost") address.host = "127.0.0.1";
  const std::string port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) throw refuse("no port");
  error_code wrong;
  const auto parsed = asio::ip::make_address(address.host, wrong);
  if (wrong) throw refuse("no numeric address");
  address.loopback = parsed.is_loopback();
  return address;
}

}  // namespace linac::http
