#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/control/catalog/visibility.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {
namespace {

Handler watch(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string id = request.variable("id");
    // Looked up after the withdrawals, so that none comes in between.
    const int64_t withdrawals = context.hub.withdrawals();
    const auto audience =
        co_await reading(context, [&](catalog::Database& database) { return catalog::audience_of_run(database, id); });
    const catalog::Viewer viewer = viewer_of(request);
    if (!audience || !may_read(viewer, *audience)) throw not_there({kRunThing, id});
    const bool in_any_case = may_read(viewer, {audience->owner, false});
    int64_t after = request.integer("after");
    const std::string& last = request.header("last-event-id");
    std::from_chars(last.data(), last.data() + last.size(), after);
    Response response;
    response.events = context.hub.subscribe(id, after, in_any_case ? std::nullopt : std::optional(withdrawals));
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
  route.reads = Reads::of(by_variable(kRunThing, "id"));
  route.handler = watch(context);
  return {std::move(route)};
}

}  // namespace linac::service
