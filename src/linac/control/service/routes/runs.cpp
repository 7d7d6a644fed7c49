#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/catalog/models.h"
#include "linac/control/service/bounds.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/long_lists.h"
#include "linac/control/service/routes/native_words.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr int64_t kPageDefault = 100;

int64_t limit_of(const Request& request) {
  const int64_t limit = request.integer("limit", kPageDefault);
  if (limit < 1 || limit > kPageMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[request] 'limit' is {} (wanted: 1 to {})", limit, kPageMax));
  return limit;
}

catalog::View view_of(const Request& request) {
  const std::string word = request.text("view", "active");
  if (word == "active") return catalog::View::kActive;
  if (word == "deleted") return catalog::View::kDeleted;
  if (word == "all") return catalog::View::kAll;
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[request] 'view' is '{}' (wanted: active, deleted or all)", printable(word)));
}

template <class Item, class Words>
json page_json(const char* name, const catalog::Page<Item>& page, const Words& words) {
  json items = json::array();
  for (const auto& item : page.items) items.push_back(words(item));
  return {{name, std::move(items)}, {"next", page.next}};
}

LongList runs(Database& database, Request& request) {
  catalog::RunSearch search;
  for (const std::string& id : request.texts("experiment")) {
    char* end = nullptr;
    search.experiments.push_back(std::strtoll(id.c_str(), &end, 10));
    if (id.empty() || *end != '\0')
      throw Refusal(RefusalKind::kInvalid,
                    fmt::format("[request] 'experiment' is '{}' (wanted: its number)", printable(id)));
  }
  search.filter = request.text("filter");
  search.order = request.texts("order_by");
  search.view = view_of(request);
  search.limit = limit_of(request);
  search.token = request.text("page_token");
  catalog::Page<int64_t> page = catalog::search_run_numbers(database, viewer_of(request), search);
  LongList list{"runs", {{"next", page.next}}, static_cast<int64_t>(page.items.size())};
  list.items = [numbers = std::move(page.items)](Database& d, int64_t from, int64_t count) {
    json items = json::array();
    for (const auto& run : catalog::runs_numbered(d, std::span(numbers).subspan(from, count)))
      items.push_back(native_run(run));
    return items;
  };
  return list;
}

json run(Database& database, Request& request) {
  const catalog::Run found = catalog::run(database, request.variable("id"));
  json answer = native_run(found);
  answer["inputs"] = native_inputs(found);
  answer["transitions"] = native_transitions(catalog::transitions(database, found.id));
  return answer;
}

json experiments(Database& database, Request& request) {
  const auto page =
      catalog::search_experiments(database, viewer_of(request), request.text("filter"), request.texts("order_by"),
                                  view_of(request), limit_of(request), request.text("page_token"));
  return page_json("experiments", page, native_experiment);
}

json models(Database& database, Request& request) {
  const auto page = catalog::search_models(database, viewer_of(request), request.text("filter"),
                                           request.texts("order_by"), limit_of(request), request.text("page_token"));
  return page_json("models", page, native_model);
}

json versions(Database& database, Request& request) {
  const auto page = catalog::search_versions(database, viewer_of(request), request.text("filter"),
                                             request.texts("order_by"), limit_of(request), request.text("page_token"));
  return page_json("versions", page, native_version);
}

}  // namespace

std::vector<Route> run_routes(Context& context) {
  const std::vector<FieldRule> page = {
      {"filter", FieldType::kText, false, "e.g. metrics.auc > 0.9 OR tags.site = 'T2'"},
      {"order_by", FieldType::kTexts, false, "e.g. metrics.auc DESC; several count in turn"},
      {"limit", FieldType::kInteger, false, "of a page, at most 5000"},
      {"page_token", FieldType::kText, false, "'next' of the page before"}};
  const auto with = [&](std::vector<FieldRule> more) {
    more.insert(more.end(), page.begin(), page.end());
    return more;
  };
  const FieldRule view{"view", FieldType::kText, false, "active, deleted or all"};
  const auto get = [](const char* path, const char* name, const char* summary, Reads reads,
                      std::vector<FieldRule> fields, Handler handler) {
    Route route;
    route.pattern = std::string("/api/v1/") + path;
    route.name = name;
    route.summary = summary;
    route.reads = std::move(reads);
    route.fields = std::move(fields);
    route.handler = std::move(handler);
    return route;
  };
  return {
      get("runs", "list_runs", "Runs that a filter names, in an order, page by page", Reads::found(),
          with({{"experiment", FieldType::kTexts, false, "numbers of experiments; none: all"}, view}),
          reads_long_list(context, runs)),
      get("runs/{id}", "get_run", "A run with all that is known of it, and its states",
          Reads::of(by_variable(kRunThing, "id")), {}, reads(context, run)),
      get("experiments", "list_experiments", "Experiments", Reads::found(), with({view}), reads(context, experiments)),
      get("models", "list_models", "Registered models", Reads::found(), with({}), reads(context, models)),
      get("model-versions", "list_versions", "Versions of models", Reads::found(), with({}), reads(context, versions)),
  };
}

}  // namespace linac::service
