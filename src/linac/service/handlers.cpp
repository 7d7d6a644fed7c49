#include "linac/service/handlers.h"

#include <nlohmann/json.hpp>
#include <optional>
#include "linac/base/clock.h"
#include "linac/catalog/users.h"

namespace linac::service {

using nlohmann::json;

Handler reads(Context& context, std::function<json(catalog::Database&, Request&)> work) {
  return [&context, work = std::move(work)](Request& request) -> Task<Response> {
    Response response =
        co_await reading(context, [&](catalog::Database& database) { return Response::json(work(database, request)); });
    co_return response;
  };
}

Handler writes(Context& context, std::function<json(catalog::Database&, Request&)> work) {
  return [&context, work = std::move(work)](Request& request) -> Task<Response> {
    const json answer = co_await writing(context, [&](catalog::Database& database) { return work(database, request); });
    co_return Response::json(answer);
  };
}

Handler works_aside(Context& context, std::function<Response(Request&)> work) {
  return [&context, work = std::move(work)](Request& request) -> Task<Response> {
    std::optional<Response> response;
    co_await aside(context, [&] { response = work(request); });
    co_return std::move(*response);
  };
}

Handler answers(std::function<Response(Request&)> work) {
  return [work = std::move(work)](Request& request) -> Task<Response> { co_return work(request); };
}

void put_into_audit(catalog::Database& database, const Request& request, const std::string& action,
                    const std::string& object) {
  catalog::audit(database, {now_ms(), request.caller.user, action, object, request.caller.from});
}

}  // namespace linac::service
