#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/service/bounds.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/native_words.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr int64_t kStretchesDefault = 500;

json curves(Database& database, const Request& request, const std::vector<std::string>& runs,
            const std::vector<std::string>& keys) {
  const int64_t stretches = request.integer("stretches", kStretchesDefault);
  const int64_t from = request.integer("from", INT64_MIN), to = request.integer("to", INT64_MAX);
  if (stretches < 1 || stretches > kStretchesMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[curves] 'stretches' is {} (wanted: 1 to {})", stretches, kStretchesMax));
  if (from > to) throw Refusal(RefusalKind::kInvalid, "[curves] 'to' is before 'from'");
  if (runs.size() * keys.size() > kCurvesMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[curves] {} curves (at most {}); ask for fewer runs or keys at a time",
                              runs.size() * keys.size(), kCurvesMax));
  if (static_cast<int64_t>(runs.size() * keys.size()) * stretches > kStretchesOfAllMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[curves] {} curves of {} stretches (at most {} stretches together); ask for fewer",
                              runs.size() * keys.size(), stretches, kStretchesOfAllMax));
  json list = json::array();
  for (const std::string& run : runs) {
    for (const std::string& key : keys) {
      json parts = json::array();
      for (const auto& stretch : catalog::thinned(database, run, key, stretches, from, to))
        parts.push_back(native_stretch(stretch));
      list.push_back({{"run", run}, {"key", key}, {"stretches", std::move(parts)}});
    }
  }
  return {{"fields", kStretchFields}, {"curves", std::move(list)}};
}

json curves_of_run(Database& database, Request& request) {
  const std::string& id = request.variable("id");
  std::vector<std::string> keys = request.texts("key");
  const catalog::Run run = catalog::run(database, id);
  if (keys.empty())
    for (const auto& metric : run.metrics) keys.push_back(metric.key);
  return curves(database, request, {id}, keys);
}

/// {"key": [[step, time_ms, value], ...], ...} in the order in which it is written.
std::vector<catalog::KeyedPoint> points_of(const json& object) {
  std::vector<catalog::KeyedPoint> points;
  if (object.size() > kPointNamesMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[points] {} metrics in a batch (at most {}); send several",
                                                     object.size(), kPointNamesMax));
  for (const auto& [key, list] : object.items()) {
    if (!list.is_array())
      throw Refusal(RefusalKind::kInvalid, fmt::format("[points] '{}' is no list of points", printable(key)));
    for (const json& point : list) {
      if (!point.is_array() || point.size() != 3)
        throw Refusal(RefusalKind::kInvalid,
                      fmt::format("[points] '{}': a point is [step, time_ms, value]", printable(key)));
      points.push_back({key,
                        {http::integer_from(point[0], "step"), http::integer_from(point[1], "time_ms"),
                         http::number_from(point[2], "value")}});
      if (points.size() > kPointsMax)
        throw Refusal(RefusalKind::kInvalid,
                      fmt::format("[points] more than {} points in a batch; send several", kPointsMax));
    }
  }
  return points;
}

Handler append(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string run = request.variable("id"), sender = request.text("sender");
    const int64_t sequence = request.integer("sequence");
    const std::vector<catalog::KeyedPoint> points = points_of((*request.input)["points"]);
    if (sender.empty() || sender.size() > catalog::kKeyMax)
      throw Refusal(RefusalKind::kInvalid,
                    fmt::format("[points] 'sender' is empty or longer than {} bytes", catalog::kKeyMax));
    bool fresh = false;
    const int64_t last = co_await writing(
        context,
        [&](Database& database) {
          fresh = catalog::acknowledged(database, run, sender) < sequence;
          return catalog::append_batch(database, run, sender, sequence, points);
        },
        who_asks(request));
    if (fresh) {
      context.points_total += static_cast<int64_t>(points.size());
      context.hub.publish_points(run, points);
    }
    co_return Response::json({{"acknowledged", last}});
  };
}

}  // namespace

std::vector<Route> curve_routes(Context& context) {
  const std::vector<FieldRule> window = {
      {"stretches", FieldType::kInteger, false, "at most so many parts a curve, up to 5000"},
      {"from", FieldType::kInteger, false, "first step"},
      {"to", FieldType::kInteger, false, "last step"}};
  const auto with = [&](std::vector<FieldRule> more) {
    more.insert(more.end(), window.begin(), window.end());
    return more;
  };
  Route one;
  one.pattern = "/api/v1/runs/{id}/curves";
  one.name = "get_curves";
  one.summary = "Curves of a run, thinned for drawing: each part with its smallest, largest and last value";
  one.fields = with({{"key", FieldType::kTexts, false, "metrics; none: all"}});
  one.reads = Reads::of(by_variable(kRunThing, "id"));
  one.handler = reads(context, curves_of_run);

  Route several;
  several.method = Method::kPost;
  several.pattern = "/api/v1/curves";
  several.name = "get_curves_of_runs";
  several.summary = "The same for several runs";
  several.changes = Changes::nothing();
  several.reads = Reads::of(by_list(kRunThing, "runs"));
  several.body = BodyKind::kJson;
  several.fields = with({{"runs", FieldType::kTexts, true, "ids"}, {"keys", FieldType::kTexts, true, "metrics"}});
  several.handler = reads(context, [](Database& database, Request& request) {
    return curves(database, request, request.texts("runs"), request.texts("keys"));
  });

  Route post;
  post.method = Method::kPost;
  post.pattern = "/api/v1/runs/{id}/points";
  post.name = "append_points";
  post.summary = "A sender's next batch of points; sent twice, it counts once";
  post.access = Access::kMember;
  post.changes = Changes::recorded(by_variable(kRunThing, "id"));
  post.body = BodyKind::kJson;
  post.body_bytes_max = 4 << 20;
  post.fields = {{"sender", FieldType::kText, true, "a name that is one process's alone"},
                 {"sequence", FieldType::kInteger, true, "counts the sender's batches from 1"},
                 {"points", FieldType::kObject, true, "{key: [[step, time_ms, value], ...]}"}};
  post.handler = append(context);

  Route told;
  told.pattern = "/api/v1/runs/{id}/acknowledged";
  told.name = "get_acknowledged";
  told.summary = "The last batch of a sender that is in the catalog, 0 for none";
  told.fields = {{"sender", FieldType::kText, true, "as in the batches"}};
  told.reads = Reads::of(by_variable(kRunThing, "id"));
  told.handler = reads(context, [](Database& database, Request& request) -> json {
    catalog::run(database, request.variable("id"));
    return {{"acknowledged", catalog::acknowledged(database, request.variable("id"), request.text("sender"))}};
  });
  return {std::move(one), std::move(several), std::move(post), std::move(told)};
}

}  // namespace linac::service
