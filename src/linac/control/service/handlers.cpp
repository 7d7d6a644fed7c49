#include "linac/control/service/handlers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/users.h"
#include "linac/control/service/ownership.h"

namespace linac::service {

using nlohmann::json;

namespace {

Response checked(Response response) {
  if (response.body.size() > kAnswerBytesMax)
    throw Refusal(
        RefusalKind::kInvalid,
        fmt::format("[service] the answer has {} bytes ({} at most); ask for less: a smaller page, fewer runs "
                    "or names",
                    response.body.size(), kAnswerBytesMax));
  return response;
}

}  // namespace

Handler reads(Context& context, std::function<json(catalog::Database&, Request&)> work) {
  return [&context, work = std::move(work)](Request& request) -> Task<Response> {
    const auto turn = co_await context.turns.take(who_asks(request));
    Response response = co_await reading(
        context, [&](catalog::Database& database) { return checked(Response::json(work(database, request))); });
    co_return response;
  };
}

Handler writes(Context& context, std::function<json(catalog::Database&, Request&)> work) {
  return [&context, work = std::move(work)](Request& request) -> Task<Response> {
    const json answer = co_await change(context, request, work);
    co_return Response::json(answer);
  };
}

Task<json> change(Context& context, Request& request, std::function<json(catalog::Database&, Request&)> work) {
  json answer = co_await writing(
      context,
      [&](catalog::Database& database) {
        request.noted = false;  // this may be the second time
        check_models_again(database, request);
        json done = work(database, request);
        note_change(database, request);
        return done;
      },
      who_asks(request));
  co_return answer;
}

Handler works_aside(Context& context, std::function<Response(Request&)> work) {
  return [&context, work = std::move(work)](Request& request) -> Task<Response> {
    const auto turn = co_await context.turns.take(who_asks(request));
    std::optional<Response> response;
    co_await aside(context, [&] { response = work(request); });
    co_return std::move(*response);
  };
}

Handler answers(std::function<Response(Request&)> work) {
  return [work = std::move(work)](Request& request) -> Task<Response> { co_return work(request); };
}

void put_into_audit(catalog::Database& database, Request& request, const std::string& action,
                    const std::string& object) {
  catalog::audit(database, {now_ms(), request.caller.user, action, object, request.caller.from});
  request.noted = true;
}

}  // namespace linac::service
