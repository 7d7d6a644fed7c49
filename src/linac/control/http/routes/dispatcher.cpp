#include "linac/control/http/routes/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/lower_ascii.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/http/query.h"
#include "linac/control/http/routes/error_response.h"
#include "linac/control/http/routes/json_fields.h"

namespace linac::http {
namespace {

constexpr std::string_view kBrowserPrefix = "/ajax-api/";  // MLflow's second name for /api/

std::optional<Method> method_of(const std::string& word) {
  for (const Method method : {Method::kGet, Method::kPost, Method::kPut, Method::kPatch, Method::kDelete})
    if (word == to_string(method)) return method;
  return word == "HEAD" ? std::optional(Method::kGet) : std::nullopt;
}

std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']') + 1, host.size()));
  return host.substr(0, host.find(':'));
}

/// A page of another site that makes a browser send something here.
bool from_another_site(const Head& head, Method method) {
  if (method == Method::kGet) return false;
  const auto site = head.headers.find("sec-fetch-site");
  if (site != head.headers.end() && site->second != "same-origin" && site->second != "none") return true;
  const auto origin = head.headers.find("origin");
  if (origin == head.headers.end()) return false;
  const auto host = head.headers.find("host");
  const size_t slashes = origin->second.find("://");
  return slashes == std::string::npos || host == head.headers.end() ||
         origin->second.substr(slashes + 3) != host->second;
}

/// Of the body, as it is told; the most that it may have where it is not.
int64_t bytes_in_memory(const Head& head, const Route& route) {
  if (route.body != BodyKind::kJson && route.body != BodyKind::kBytes) return 0;
  const auto most = static_cast<uint64_t>(route.body_bytes_max);
  if (head.headers.contains("transfer-encoding")) return static_cast<int64_t>(most);
  const auto length = head.headers.find("content-length");
  if (length == head.headers.end()) return 0;
  const std::string& text = length->second;
  uint64_t bytes = most;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return static_cast<int64_t>(std::min(bytes, most));
}

}  // namespace

bool loopback_host(std::string_view host) {
  const std::string name = lower_ascii(name_of(host));
  if (name == "localhost" || name == "[::1]") return true;
  const bool numeric = std::all_of(name.begin(), name.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return numeric && name.starts_with("127.");
}

Dispatcher::Dispatcher(Identify identify, Guard guard, const Router& router, Limits limits)
    : identify_(std::move(identify)),
      guard_(std::move(guard)),
      router_(router),
      limits_(std::move(limits)),
      rate_(limits_.requests_per_s, 2 * limits_.requests_per_s),
      shares_(limits_.requests_at_once) {}

std::optional<Response> Dispatcher::refuse_host(const Head& head, std::string_view path) const {
  const auto found = head.headers.find("host");
  const std::string host = found == head.headers.end() ? "" : found->second;
  const std::string name = lower_ascii(name_of(host));
  if (std::find(limits_.hosts.begin(), limits_.hosts.end(), name) != limits_.hosts.end()) return std::nullopt;
  if (limits_.loopback ? loopback_host(host) : limits_.hosts.empty() && !host.empty()) return std::nullopt;
  return refusal_response(
      path, 421, "INVALID_PARAMETER_VALUE",
      fmt::format("[service] the Host '{}' is not one of this service; `linac serve --host {}` allows it",
                  printable(host), printable(name)));
}

std::optional<Response> Dispatcher::read(Head& head, Admission& admission) const {
  Request& request = admission.request;
  if (head.target.starts_with(kBrowserPrefix)) head.target = "/api/" + head.target.substr(kBrowserPrefix.size());
  const size_t mark = std::min(head.target.find('?'), head.target.size());
  const std::string path = head.target.substr(0, mark);
  const auto refused = [&](int status, const char* code, const std::string& message) {
    return refusal_response(path, status, code, message);
  };

  if (auto refusal = refuse_host(head, path)) return refusal;
  const auto method = method_of(head.method);
  if (!method) return refused(405, "INVALID_PARAMETER_VALUE", "[service] the method is not served here");
  if (from_another_site(head, *method))
    return refused(403, "PERMISSION_DENIED", "[service] the request comes from a page of another site");
  Match match = router_.match(*method, path);
  if (!match.route && match.other_method)
    return refused(405, "ENDPOINT_NOT_FOUND",
                   fmt::format("[service] {} does not take {}", printable(path), printable(head.method)));
  if (!match.route)
    return refused(404, "ENDPOINT_NOT_FOUND",
                   fmt::format("[service] nothing at {}; /openapi.json lists what there is", printable(path)));
  auto query = parse_query(std::string_view(head.target).substr(std::min(mark + 1, head.target.size())));
  if (!query)
    return refused(400, "INVALID_PARAMETER_VALUE",
                   fmt::format("[service] the query cannot be decoded, or has more than {} parameters (wanted: "
                               "name=value&..., in UTF-8)",
                               kQueryParametersMax));
  request.method = *method;
  request.path = path;
  request.secure = head.secure || limits_.proxies.secure(head.from, head.headers);
  request.route = match.route;
  request.variables = std::move(match.variables);
  request.query = std::move(*query);
  return std::nullopt;
}

Task<Admission> Dispatcher::admit(Head head) {
  auto admission = std::make_unique<Admission>();
  admission->refusal = read(head, *admission);
  if (!admission->refusal) {
    std::exception_ptr error;
    try {
      co_await let_in(head, *admission->request.route, admission->request);
    } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      admission->refusal = error_response(admission->request.path, error);
    } else {
      admission->route = admission->request.route;
    }
  }
  co_return std::move(*admission);
}

void Dispatcher::take_shares(const std::string& who, const Head& head, const Route& route, Request& request) {
  request.under_way = shares_.take(who);
  if (!request.under_way)
    throw Refusal(RefusalKind::kLimit,
                  fmt::format("[service] {} requests and streams of yours are under way, which are the most; end some",
                              limits_.requests_at_once));
  if (!rate_.take(who))
    throw Refusal(
        RefusalKind::kLimit,
        fmt::format("[service] more than {:g} requests a second; send less at a time or wait", limits_.requests_per_s));
  if (const int64_t bytes = bytes_in_memory(head, route); bytes > 0 && !(request.body_room = bodies_.take(who, bytes)))
    throw Refusal(RefusalKind::kLimit,
                  fmt::format("[service] bodies of yours under way have more than {} bytes, which are the most; send "
                              "less at a time",
                              kBodiesOfOneMax));
}

Task<void> Dispatcher::let_in(Head& head, const Route& route, Request& request) {
  const std::string from = limits_.proxies.client(head.from, head.headers);
  request.caller = co_await identify_(request.method, head.headers, from);
  const Access access = request.caller.access;
  if (access == Access::kOpen && route.access != Access::kOpen)
    throw Refusal(RefusalKind::kUnknown,
                  "[login] the request has no token; set LINAC_TOKEN or MLFLOW_TRACKING_TOKEN, or `linac login`");
  if (!may(access, route.access))
    throw Refusal(RefusalKind::kDenied, fmt::format("[login] {} is a {} here; this needs the role {}",
                                                    request.caller.user, to_string(access), to_string(route.access)));
  const std::string& who = access != Access::kOpen ? request.caller.user : from;
  take_shares(who, head, route, request);
  request.headers = std::move(head.headers);
  if (route.body == BodyKind::kJson) co_return;  // what it names is in the body
  request.input = fields_of_query(request.query, route.fields);
  co_await check(route, request);
}

Task<void> Dispatcher::check(const Route& route, Request& request) {
  if (!route.changes.things && !route.reads.things) co_return;
  if (route.changes.things) request.things = route.changes.things(request);
  if (route.reads.things) request.reads = route.reads.things(request);
  co_await guard_.check(request);
}

Task<Response> Dispatcher::carry_out(const Route& route, Request& request) {
  using What = Changes::What;
  if (route.body == BodyKind::kJson) {
    request.input =
        request.body.empty() ? std::make_shared<nlohmann::json>(nlohmann::json::object()) : parse_object(request.body);
    check_fields(*request.input, route.fields);
    co_await check(route, request);
  }
  Response response = co_await route.handler(request);
  const bool changes = route.changes.what != What::kUndeclared && route.changes.what != What::kNothing;
  const bool belongs_there = route.changes.noted_each || request.of_another;
  const bool to_note = changes && belongs_there && response.status < 400 && !request.noted;
  if (to_note) {
    co_await guard_.note(request);
  }
  co_return response;
}

Task<Response> Dispatcher::answer(const Route& route, Request& request) {
  std::exception_ptr error;
  try {
    co_return co_await carry_out(route, request);
  } catch (...) {
    error = std::current_exception();
  }
  co_return error_response(request.path, error);
}

void Dispatcher::secure(Response& response, bool tls) {
  const auto add = [&](const char* name, const char* value) {
    const bool given = std::any_of(response.headers.begin(), response.headers.end(),
                                   [&](const auto& header) { return header.first == name; });
    if (!given) response.headers.emplace_back(name, value);
  };
  response.headers.reserve(response.headers.size() + 6);
  add("X-Content-Type-Options", "nosniff");
  add("X-Frame-Options", "DENY");
  add("Referrer-Policy", "no-referrer");
  add("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  add("Cache-Control", "no-store");
  if (tls) add("Strict-Transport-Security", "max-age=31536000");
}

}  // namespace linac::http
