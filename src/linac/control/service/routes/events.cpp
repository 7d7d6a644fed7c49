#include <charconv>
#include <nlohmann/json.hpp>

#include "linac/control/catalog/visibility.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {
namespace {

/// Of a caller who may watch the run only while others may.
bool by_sharing(catalog::Database& database, const Request& request, const std::string& run) {
  const auto audience = catalog::audience_of_run(database, run);
  const catalog::Viewer viewer = viewer_of(request);
  if (!audience || !may_read(viewer, *audience)) throw not_there({kRunThing, run});
  return !may_read(viewer, {audience->owner, false});
}

Handler watch(Context& context, Authentication& authentication) {
  return [&context, &authentication](Request& request) -> Task<Response> {
    const std::string id = request.variable("id");
    const Caller& caller = request.caller;
    Pass pass{caller.user, caller.token, caller.session, false, caller.until_ms};
    pass.of_another =
        co_await reading(context, [&](catalog::Database& database) { return by_sharing(database, request, id); });
    int64_t after = request.integer("after");
    const std::string& last = request.header("last-event-id");
    std::from_chars(last.data(), last.data() + last.size(), after);
    Response response;
    response.events = context.hub.subscribe(id, after, std::move(pass));
    // Once more, now that each change of rights ends the stream.
    co_await reading(context, [&](catalog::Database& database) {
      if (!authentication.still_good(database, caller))
        throw Refusal(RefusalKind::kUnknown, "[login] the token or session has just ended; log in again");
      return by_sharing(database, request, id);
    });
    co_return response;
  };
}

}  // namespace

std::vector<Route> event_routes(Context& context, Authentication& authentication) {
  Route route;
  route.pattern = "/api/v1/runs/{id}/events";
  route.name = "watch_run";
  route.summary = "News of a run as server-sent events: points, state, log; reset: load it anew";
  route.fields = {{"after", FieldType::kInteger, false, "number of the last event seen, as Last-Event-ID"}};
  route.response_type = "text/event-stream";
  route.reads = Reads::of(by_variable(kRunThing, "id"));
  route.handler = watch(context, authentication);
  return {std::move(route)};
}

}  // namespace linac::service
