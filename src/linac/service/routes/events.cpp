#include <charconv>
#include <nlohmann/json.hpp>

#include "linac/catalog/runs.h"
#include "linac/service/handlers.h"
#include "linac/service/routes/table.h"

namespace linac::service {
namespace {

Handler watch(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string id = request.variable("id");
    co_await reading(context, [&](catalog::Database& database) { return catalog::run(database, id).id; });
    int64_t after = request.integer("after");
    const std::string& last = request.header("last-event-id");
    std::from_chars(last.data(), last.data() + last.size(), after);
    Response response;
    response.events = context.hub.subscribe(id, after);
    co_return response;
  };
}

}  // namespace

std::vector<Route> event_routes(Context& context) {
  Route route;
  route.pattern = "/api/v1/runs/{id}/events";
  route.name = "watch_run";
  route.summary = "News of a run as server-sent events: points, state, log; reset: load it anew";
  route.fields = {{"after", FieldType::kInteger, false, "number of the last event seen, as Last-Event-ID"}};
  route.response_type = "text/event-stream";
  route.handler = watch(context);
  return {std::move(route)};
}

}  // namespace linac::service
