#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/catalog/logged_models.h"
#include "linac/control/catalog/models.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr size_t kTagBytesMax = 65000;
constexpr int64_t kPageMax = 10000;
constexpr size_t kFilesBytesMax = 500;  // of a place that the catalog looks up
constexpr int kReferencesMax = 8;       // versions that are copies of versions
const FieldRule kName{"name", FieldType::kText, true, "the model's"};
const FieldRule kVersion{"version", FieldType::kInteger, true, "its number"};
const FieldRule kKey{"key", FieldType::kText, true, "of the tag"};

json answer_of(const catalog::ModelVersion& version) {
  return {{"model_version", mlflow::version_json(version)}};
}

/// The files of a version are fetched by whoever asks for it: a path of somebody's own machine would name other files
/// there.
void check_source(const std::string& source, const std::vector<std::string>& stores) {
  if (catalog::is_asked_with_a_token(source))
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[models] source '{}' is a server that MLflow's clients would send their tokens to; log "
                              "the model as an artefact and give its URI",
                              printable(source)));
  const size_t colon = source.find(':');
  const std::string scheme = colon == std::string::npos ? "" : source.substr(0, colon);
  if (source.empty() || (scheme != "file" && scheme.size() > 1)) return catalog::check_store(source, stores);
  throw Refusal(
      RefusalKind::kInvalid,
      fmt::format("[models] source '{}' is a path of one machine; log the model as an artefact and give its URI",
                  printable(source)));
}

void need(const catalog::Viewer& viewer, const std::optional<catalog::Audience>& audience, const Thing& thing) {
  if (!audience || !may_read(viewer, *audience)) throw not_there(thing);
}

catalog::LoggedModel logged_model(Database& database, const catalog::Viewer& viewer, const std::string& id) {
  need(viewer, catalog::audience_of_logged_model(database, id), {kLoggedModelThing, id});
  return catalog::logged_model(database, id, true);
}

catalog::ModelVersion version_of(Database& database, const catalog::Viewer& viewer, const std::string& name,
                                 int64_t number) {
  need(viewer, catalog::audience_of_model(database, name), {kModelThing, name});
  return catalog::version(database, name, number);
}

/// Where the files lie: "models:/m-..." is a logged model, "models:/name/3" another version. kNotFound for what is not
/// there, or not for the viewer's eyes.
std::string resolved(Database& database, const catalog::Viewer& viewer, std::string source) {
  for (int i = 0; i < kReferencesMax && source.starts_with("models:/"); ++i) {
    const std::string name = source.substr(8);
    const size_t slash = name.rfind('/');
    int64_t number = 0;
    if (slash == std::string::npos) return logged_model(database, viewer, name).artifact_uri;
    std::from_chars(name.data() + slash + 1, name.data() + name.size(), number);
    source = version_of(database, viewer, name.substr(0, slash), number).source;
  }
  return source;
}

/// The same, if it is among the service's artefacts.
std::string files_of(Database& database, const catalog::Viewer& viewer, const std::string& source) {
  try {
    const auto path = catalog::own_artifacts(resolved(database, viewer, source));
    return path && path->size() <= kFilesBytesMax ? "mlflow-artifacts:/" + *path : "";
  } catch (const Refusal&) {
    return "";
  }
}

json created(Database& database, Request& request, const std::vector<std::string>& stores) {
  const catalog::Viewer viewer = viewer_of(request);
  catalog::NewVersion version{.source = request.text("source"),
                              .run = request.text("run_id"),
                              .description = request.text("description"),
                              .user = request.caller.user,
                              .tags = mlflow::tags(request.list("tags"), kTagBytesMax)};
  check_source(version.source, stores);
  version.files = files_of(database, viewer, version.source);
  std::string model = request.text("model_id");
  if (model.empty() && version.source.starts_with("models:/m-")) model = version.source.substr(8);
  if (!model.empty()) {
    if (version.run.empty()) version.run = logged_model(database, viewer, model).run;
    version.tags[mlflow::kModelIdTag] = model;
  }
  if (request.has("run_link")) version.tags[mlflow::kRunLinkTag] = request.text("run_link");
  return answer_of(catalog::create_version(database, request.text("name"), version));
}

json download_uri(Database& database, Request& request) {
  const auto version = catalog::version(database, request.text("name"), request.integer("version"));
  const bool elsewhere = version.files.empty() || !version.source.starts_with("models:/");
  return {{"artifact_uri", elsewhere ? resolved(database, viewer_of(request), version.source) : version.files}};
}

json searched(Database& database, Request& request) {
  // MLflow lets a page have 200,000 versions; here the token leads on after 10,000.
  const int64_t limit = std::min<int64_t>(mlflow::page_size(request, kPageMax, 200000), kPageMax);
  const auto page = catalog::search_versions(database, viewer_of(request), mlflow::model_filter(request),
                                             request.texts("order_by"), limit, request.text("page_token"));
  json versions = json::array();
  for (const auto& version : page.items) versions.push_back(mlflow::version_json(version));
  json answer = {{"model_versions", std::move(versions)}};
  if (!page.next.empty()) answer["next_page_token"] = page.next;
  return answer;
}

}  // namespace

std::vector<Route> mlflow_version_routes(Context& context) {
  using enum Method;
  using mlflow::route;
  const Permission own(Access::kMember, Changes::of(by_field(kModelThing, "name")));
  const Permission shown = mlflow::shows(by_field(kModelThing, "name"));
  const auto change = [&](auto work) {
    return writes(context, [work](Database& database, Request& request) -> json {
      work(database, request);
      return json::object();
    });
  };
  return {
      route(kPost, "model-versions/create", "create_model_version", "The next version of a model", own,
            {kName,
             {"source", FieldType::kText, true, "URI of its artefacts"},
             {"run_id", FieldType::kText, false, "the run that made it"},
             {"tags", FieldType::kObjects, false, "{key, value}"},
             {"run_link", FieldType::kText, false, "URL of a run elsewhere"},
             {"description", FieldType::kText, false, "in Markdown"},
             {"model_id", FieldType::kText, false, "the logged model that it is"}},
            writes(context, [&context](Database& database,
                                       Request& request) { return created(database, request, context.stores); })),
      route(kPatch, "model-versions/update", "update_model_version", "Another description", own,
            {kName, kVersion, {"description", FieldType::kText, false, "in Markdown"}},
            writes(context,
                   [](Database& database, Request& request) {
                     catalog::describe_version(database, request.text("name"), request.integer("version"),
                                               request.text("description"));
                     return answer_of(catalog::version(database, request.text("name"), request.integer("version")));
                   })),
      route(kPost, "model-versions/transition-stage", "transition_model_version", "Puts a version into a stage", own,
            {kName,
             kVersion,
             {"stage", FieldType::kText, true, "None, Staging, Production or Archived"},
             {"archive_existing_versions", FieldType::kBoolean, false, "those that were in the stage go to Archived"}},
            writes(context,
                   [](Database& database, Request& request) {
                     return answer_of(catalog::transition_version(database, request.text("name"),
                                                                  request.integer("version"), request.text("stage"),
                                                                  request.flag("archive_existing_versions")));
                   })),
      route(kDelete, "model-versions/delete", "delete_model_version", "Forgets a version", own, {kName, kVersion},
            change([](Database& database, Request& request) {
              catalog::delete_version(database, request.text("name"), request.integer("version"));
            })),
      route(kGet, "model-versions/get", "get_model_version", "A version", shown, {kName, kVersion},
            reads(context,
                  [](Database& database, Request& request) {
                    return answer_of(catalog::version(database, request.text("name"), request.integer("version")));
                  })),
      route(kGet, "model-versions/search", "search_model_versions", "Versions that a filter finds", mlflow::finds(),
            {{"filter", FieldType::kText, false, "e.g. name = 'calo' AND tags.physics = 'passed'"},
             {"max_results", FieldType::kInteger, false, "of a page"},
             {"order_by", FieldType::kTexts, false, "e.g. version_number DESC"},
             {"page_token", FieldType::kText, false, "of the page before"}},
            reads(context, searched)),
      route(kGet, "model-versions/get-download-uri", "get_download_uri", "Where a version's files lie", shown,
            {kName, kVersion}, reads(context, download_uri)),
      route(kPost, "model-versions/set-tag", "set_model_version_tag", "Sets a tag", own,
            {kName, kVersion, kKey, {"value", FieldType::kText, true, "of the tag"}},
            change([](Database& database, Request& request) {
              catalog::set_version_tag(database, request.text("name"), request.integer("version"), request.text("key"),
                                       request.text("value"));
            })),
      route(kDelete, "model-versions/delete-tag", "delete_model_version_tag", "Removes a tag", own,
            {kName, kVersion, kKey}, change([](Database& database, Request& request) {
              catalog::delete_version_tag(database, request.text("name"), request.integer("version"),
                                          request.text("key"));
            })),
  };
}

}  // namespace linac::service
