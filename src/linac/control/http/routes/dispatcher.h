#pragma once
// Between the bytes of HTTP and the handlers: what may come in, before its body is read, and what goes out. Knows
// nothing of sockets. Thread-safe.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/control/http/rate_limit.h"
#include "linac/control/http/routes/route.h"
#include "linac/control/http/routes/router.h"
#include "linac/control/http/trusted_proxies.h"

namespace linac::http {

/// A request's head as it came.
struct Head {
  std::string method, target;
  std::map<std::string, std::string> headers;  // names in lower case; repeated ones joined by ", "
  std::string from;                            // the client's address
  bool secure = false;                         // came by TLS
};

struct Admission {
  const Route* route = nullptr;
  Request request;
  std::optional<Response> refusal;  // instead of reading the body
};

constexpr int64_t kBodiesOfOneMax = 64 << 20;  // bytes of a caller's bodies that are in memory at once

class Dispatcher {
 public:
  /// Who sends a request of these headers from this address, and what he may. Refusal for one that says who it is, and
  /// is not.
  using Identify = std::function<Task<Caller>(Method method, const std::map<std::string, std::string>& headers,
                                              const std::string& from)>;
  /// Keeps people's things apart.
  struct Guard {
    /// Before anything of the body is stored: throws kDenied unless request.things are all the caller's or he is an
    /// admin, kNotFound unless he may read them and request.reads; may look into the headers, and hold something by
    /// request.held.
    std::function<Task<void>(Request& request)> check;
    /// After a change that the handler has not noted (request.noted), before it is answered: of a route that is noted
    /// each time, or of what is another's.
    std::function<Task<void>(const Request& request)> note;
  };
  struct Limits {
    bool loopback = true;            // listening there only: then the Host must be a name of this machine
    std::vector<std::string> hosts;  // further names allowed
    double requests_per_s = 0;
    int requests_at_once = 1024;  // of a caller, streams among them
    TrustedProxies proxies{};
  };
  Dispatcher(Identify identify, Guard guard, const Router& router, Limits limits);

  Task<Admission> admit(Head head);
  /// Checks the fields, runs the handler. Never throws: failures are answers.
  Task<Response> answer(const Route& route, Request& request);
  /// The headers that every answer carries, for what `request` asked.
  static void secure(Response& response, bool tls);

 private:
  std::optional<Response> refuse_host(const Head& head, std::string_view path) const;

  /// What the head asks for, into `admission`, or why nothing can be.
  std::optional<Response> read(Head& head, Admission& admission) const;
  /// Who asks, and whether he may; throws. What a body of JSON names is checked when it is there.
  Task<void> let_in(Head& head, const Route& route, Request& request);
  /// What each caller may have at once and a second; kLimit beyond.
  void take_shares(const std::string& who, const Head& head, const Route& route, Request& request);
  Task<Response> carry_out(const Route& route, Request& request);
  Task<void> check(const Route& route, Request& request);

  const Identify identify_;
  const Guard guard_;
  const Router& router_;
  const Limits limits_;
  RateLimit rate_;
  Shares shares_, bodies_{kBodiesOfOneMax};
};

/// Whether `host` ("name", "name:port", "[::1]:port") is a name or address of this machine alone.
bool loopback_host(std::string_view host);

}  // namespace linac::http
