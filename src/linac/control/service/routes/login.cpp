#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using nlohmann::json;

namespace {

json told(const Caller& caller, const std::string& csrf) {
  json answer = {{"user", caller.user}, {"role", to_string(caller.access)}};
  if (!csrf.empty()) answer["csrf_token"] = csrf;
  return answer;
}

Handler login(Authentication& authentication) {
  return [&authentication](Request& request) -> Task<Response> {
    if (!authentication.required()) co_return Response::json(told(request.caller, ""));
    const Authentication::Login login = co_await authentication.login(request.text("token"), request.caller.from);
    Response response = Response::json(told(login.caller, login.csrf));
    response.headers.emplace_back("Set-Cookie", login.cookie + (request.secure ? "; Secure" : ""));
    co_return response;
  };
}

}  // namespace

std::vector<Route> login_routes(Context&, Authentication& authentication) {
  Route in;
  in.method = Method::kPost;
  in.pattern = "/api/v1/login";
  in.name = "login";
  in.summary = "Begins a browser's session: sets a cookie and tells the CSRF token that changes must carry";
  in.access = Access::kOpen;
  in.changes = http::Changes::nothing();
  in.reads = http::Reads::nothing();
  in.body = BodyKind::kJson;
  in.body_bytes_max = 4096;
  in.fields = {{"token", FieldType::kText, true, "linac_..."}};
  in.handler = login(authentication);

  Route out;
  out.method = Method::kPost;
  out.pattern = "/api/v1/logout";
  out.name = "logout";
  out.summary = "Ends the session";
  out.access = Access::kOpen;
  out.changes = http::Changes::nothing();
  out.reads = http::Reads::nothing();
  out.handler = answers([&authentication](Request& request) {
    authentication.logout(request.headers);
    Response response = Response::json(json::object());
    response.headers.emplace_back("Set-Cookie", "linac_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    return response;
  });

  Route me;
  me.pattern = "/api/v1/me";
  me.name = "get_me";
  me.summary = "Who the caller is, and his session's CSRF token";
  me.reads = http::Reads::nothing();
  me.handler = answers([&authentication](Request& request) {
    return Response::json(told(request.caller, authentication.csrf(request.headers)));
  });
  return {std::move(in), std::move(out), std::move(me)};
}

}  // namespace linac::service
