// Hosts that computed wrongly: which there are, and an admin's word on them.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/host_marks.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

json mark_json(const catalog::HostMark& mark) {
  return {{"host", mark.host}, {"user", mark.user}, {"worker", mark.worker},      {"core", mark.core},
          {"what", mark.what}, {"run", mark.run},   {"marked_ms", mark.marked_ms}};
}

/// Those that bind the caller's jobs, without what the run of somebody else tells; an admin sees all of everybody's.
json listed(Database& database, Request& request) {
  const catalog::Viewer viewer = viewer_of(request);
  json marks = json::array();
  for (catalog::HostMark& mark : catalog::host_marks(database)) {
    if (!viewer.all && !mark.binds(viewer.user)) continue;
    if (!viewer.all && mark.user.empty() && !mark.run.empty()) mark.worker = mark.what = mark.run = "";
    marks.push_back(mark_json(mark));
  }
  return {{"marks", std::move(marks)}};
}

json marked(Database& database, Request& request) {
  const std::string& host = request.variable("host");
  catalog::mark_host(database, {.host = host,
                                .user = "",
                                .worker = "",
                                .core = request.text("core"),
                                .what = request.text("what"),
                                .run = "",
                                .marked_ms = now_ms()});
  put_into_audit(database, request, "host.mark", host);
  return json::object();
}

json cleared(Database& database, Request& request) {
  const std::string& host = request.variable("host");
  catalog::clear_host(database, host);
  put_into_audit(database, request, "host.clear", host);
  return json::object();
}

}  // namespace

std::vector<Route> host_mark_routes(Context& context) {
  using enum Method;
  constexpr size_t kBodyBytesMax = 16384;
  const auto change = [&](Method method, const char* name, const char* summary, BodyKind body,
                          std::vector<FieldRule> fields, Handler handler) {
    return changing(Changes::by_admins(), {method, "/api/v1/hosts/{host}/mark", name, summary, Access::kAdmin, body,
                                           std::move(fields), std::move(handler), kBodyBytesMax});
  };
  return {
      showing(Reads::found(),
              {kGet,
               "/api/v1/hosts/marks",
               "list_host_marks",
               "Hosts that computed wrongly, from which the caller's jobs keep away; an admin sees everybody's",
               Access::kViewer,
               BodyKind::kNone,
               {},
               reads(context, listed)}),
      change(kPut, "mark_host", "Everybody's jobs keep away from the host", BodyKind::kJson,
             {{"core", FieldType::kText, false, "that errs"}, {"what", FieldType::kText, false, "why"}},
             writes(context, marked)),
      change(kDelete, "clear_host", "It has been looked at: jobs may run there again", BodyKind::kNone, {},
             writes(context, cleared)),
  };
}

}  // namespace linac::service
