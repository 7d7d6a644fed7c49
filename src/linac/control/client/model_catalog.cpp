#include "linac/control/client/model_catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/storage.h"

namespace linac::client {
namespace {

using nlohmann::json;

constexpr const char* kArtifacts = "/api/2.0/mlflow-artifacts/artifacts";
constexpr const char* kScheme = "mlflow-artifacts:/";
constexpr const char* kProvenance = "linac-model.json";
constexpr int kDepthMax = 3;  // of folders in which a model's file is looked for

CatalogVersion version_of(const json& json) {
  CatalogVersion version;
  version.name = json.at("name").get<std::string>();
  const auto& number = json.at("version");  // MLflow writes it as text
  version.version = number.is_string() ? std::stoll(number.get<std::string>()) : number.get<int64_t>();
  version.stage = json.value("current_stage", "None");
  version.description = json.value("description", "");
  version.user = json.value("user_id", "");
  version.run = json.value("run_id", "");
  version.aliases = json.value("aliases", std::vector<std::string>());
  for (const auto& tag : json.value("tags", json::array()))
    version.tags[tag.at("key").get<std::string>()] = tag.value("value", "");
  const auto created = json.find("creation_timestamp");
  if (created != json.end())
    version.created_ms = created->is_string() ? std::stoll(created->get<std::string>()) : created->get<int64_t>();
  return version;
}

std::string checksum_of(const std::filesystem::path& file) {
  return storage::fingerprint(file).content;
}

bool is_model_file(const std::string& name) {
  constexpr std::array kEndings{".keras", ".pt", ".pt2", ".safetensors", ".onnx", ".h5", ".chain"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](const char* ending) { return name.ends_with(ending); });
}

// As filters have texts.
std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) text.insert(at, "'");
  return "'" + text + "'";
}

}  // namespace

std::string CatalogVersion::tag(const std::string& name) const {
  const auto found = tags.find(name);
  return found == tags.end() ? "" : found->second;
}

std::vector<CatalogVersion> ModelCatalog::models(const std::string& filter) {
  std::vector<CatalogVersion> newest;
  std::string token;
  do {
    Query query{{"filter", filter}, {"max_results", "200"}};
    if (!token.empty()) query.emplace_back("page_token", token);
    const json page = service_.get("/api/2.0/mlflow/registered-models/search", query);
    for (const json& model : page.value("registered_models", json::array())) {
      CatalogVersion latest;
      latest.name = model.at("name").get<std::string>();
      latest.description = model.value("description", "");
      for (const json& each : model.value("latest_versions", json::array())) {
        CatalogVersion version = version_of(each);
        if (version.version > latest.version) latest = std::move(version);
      }
      for (const json& alias : model.value("aliases", json::array()))
        if (alias.value("version", "") == std::to_string(latest.version) &&
            std::find(latest.aliases.begin(), latest.aliases.end(), alias.value("alias", "")) == latest.aliases.end())
          latest.aliases.push_back(alias.value("alias", ""));
      newest.push_back(std::move(latest));
    }
    token = page.value("next_page_token", "");
  } while (!token.empty());
  std::sort(newest.begin(), newest.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return newest;
}

std::vector<CatalogVersion> ModelCatalog::versions(const std::string& name) {
  service_.get("/api/2.0/mlflow/registered-models/get", {{"name", name}});  // says so if there is none
  auto all = search_versions(fmt::format("name = {}", quoted(name)));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.version > b.version; });
  return all;
}

Dependants ModelCatalog::dependants(const CatalogVersion& version) {
  const std::string address = quoted(fixed_address(version.name, version.version));
  Dependants found;
  found.versions = search_versions("tags.`linac.from` = " + address);
  std::string token;
  do {
    const json page =
        service_.get("/api/v1/runs", {{"filter", "params.`model.from` = " + address}, {"page_token", token}});
    for (const json& run : page.at("runs")) found.runs[run.at("id").get<std::string>()] = run.at("name");
    token = page.value("next", "");
  } while (!token.empty());
  return found;
}

std::vector<CatalogVersion> ModelCatalog::search_versions(const std::string& filter) {
  std::vector<CatalogVersion> all;
  std::string token;
  do {
    Query query{{"filter", filter}, {"max_results", "200"}};
    if (!token.empty()) query.emplace_back("page_token", token);
    const json page = service_.get("/api/2.0/mlflow/model-versions/search", query);
    for (const json& version : page.value("model_versions", json::array())) all.push_back(version_of(version));
    token = page.value("next_page_token", "");
  } while (!token.empty());
  return all;
}

CatalogVersion ModelCatalog::find(const ModelAddress& address) {
  if (!address.alias.empty()) {
    return version_of(
        service_.get("/api/2.0/mlflow/registered-models/alias", {{"name", address.name}, {"alias", address.alias}})
            .at("model_version"));
  }
  if (address.version > 0) {
    return version_of(service_
                          .get("/api/2.0/mlflow/model-versions/get",
                               {{"name", address.name}, {"version", std::to_string(address.version)}})
                          .at("model_version"));
  }
  const auto all = versions(address.name);
  if (all.empty()) throw user_error(fmt::format("[models] {} has no version yet; linac models register", address.name));
  return all.front();
}

CatalogVersion ModelCatalog::add(const NewModel& model) {
  const std::string checksum = checksum_of(model.file), file = model.file.filename().string();
  const std::string folder = fmt::format("models/{}/{}", name_as_folder(model.name), checksum);
  const auto place = [&](const std::string& name) {
    return fmt::format("{}/{}", kArtifacts, percent_encoded(folder + "/" + name, true));
  };
  const Answer there = service_.request("GET", "/api/2.0/mlflow/registered-models/get", {{"name", model.name}}, "", "");
  if (there.status == 404)
    mlflow("registered-models/create", {{"name", model.name}});  // whose files its owner alone keeps
  service_.upload(place(file), model.file);
  const TemporaryFolder folder_of_notes;
  write_file_atomically(folder_of_notes / kProvenance,
                        model.provenance.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  service_.upload(place(kProvenance), folder_of_notes / kProvenance);

  json tags = json::array();
  auto all = model.tags;
  all["linac.file"] = file;
  all["linac.checksum"] = checksum;
  all["linac.bytes"] = std::to_string(std::filesystem::file_size(model.file));
  for (const auto& [key, value] : all) tags.push_back({{"key", key}, {"value", value}});
  const CatalogVersion added = version_of(mlflow("model-versions/create", {{"name", model.name},
                                                                           {"source", kScheme + folder},
                                                                           {"run_id", model.run},
                                                                           {"description", model.description},
                                                                           {"tags", tags}})
                                              .at("model_version"));
  if (!model.alias.empty()) set_alias(added, model.alias);
  return added;
}

void ModelCatalog::set_alias(const CatalogVersion& version, const std::string& alias) {
  mlflow("registered-models/alias",
         {{"name", version.name}, {"alias", alias}, {"version", std::to_string(version.version)}});
}

void ModelCatalog::remove_alias(const std::string& name, const std::string& alias) {
  const json body{{"name", name}, {"alias", alias}};
  const Answer answer =
      service_.request("DELETE", "/api/2.0/mlflow/registered-models/alias", {}, body.dump(), "application/json");
  if (answer.status >= 400 && answer.status != 404)
    throw user_error(fmt::format("[models] alias {} of {} was not removed: {}", alias, name, answer.body));
}

void ModelCatalog::set_stage(const CatalogVersion& version, const std::string& stage) {
  mlflow("model-versions/transition-stage", {{"name", version.name},
                                             {"version", std::to_string(version.version)},
                                             {"stage", stage},
                                             {"archive_existing_versions", false}});
}

void ModelCatalog::set_visibility(const std::string& name, const std::string& visibility) {
  mlflow("registered-models/set-tag", {{"name", name}, {"key", "linac.visibility"}, {"value", visibility}});
}

std::string ModelCatalog::artifact_folder(const CatalogVersion& version) {
  const std::string uri = service_
                              .get("/api/2.0/mlflow/model-versions/get-download-uri",
                                   {{"name", version.name}, {"version", std::to_string(version.version)}})
                              .value("artifact_uri", "");
  if (!uri.starts_with(kScheme) || uri.starts_with(std::string(kScheme) + "/"))
    throw user_error(fmt::format("[models] the files of {} lie at '{}', which only its MLflow client can read",
                                 fixed_address(version.name, version.version), uri));
  return uri.substr(std::string(kScheme).size());
}

// Of a version that an MLflow client registered: the only file in its folder that can be a model.
std::string ModelCatalog::model_file(const std::string& folder, const CatalogVersion& version) {
  std::vector<std::string> found, level{""};
  for (int depth = 0; depth < kDepthMax; ++depth) {
    std::vector<std::string> below;
    for (const std::string& at : level) {
      const json files = service_.get(kArtifacts, {{"path", at.empty() ? folder : folder + "/" + at}});
      for (const json& file : files.value("files", json::array())) {
        const std::string path = (at.empty() ? "" : at + "/") + file.at("path").get<std::string>();
        if (file.value("is_dir", false))
          below.push_back(path);
        else if (is_model_file(path))
          found.push_back(path);
      }
    }
    level = std::move(below);
  }
  if (found.size() == 1) return found.front();
  throw user_error(
      fmt::format("[models] {} has {} in {}; register one file: linac models register FILE --name {}",
                  fixed_address(version.name, version.version),
                  found.empty() ? "no model's file" : fmt::format("several files ({})", fmt::join(found, ", ")), folder,
                  version.name));
}

std::filesystem::path ModelCatalog::fetch(const CatalogVersion& version, const std::filesystem::path& folder) {
  const std::string checksum = version.tag("linac.checksum");
  std::string file = version.tag("linac.file");
  const auto named = [&](const std::string& name) {
    const auto path = folder / std::filesystem::path(name).filename();
    storage::use_cached(path);
    return path;
  };
  if (!file.empty() && !checksum.empty() && std::filesystem::exists(named(file)) &&
      checksum_of(named(file)) == checksum)
    return named(file);
  const std::string from = artifact_folder(version);
  if (file.empty()) file = model_file(from, version);
  make_folder(folder);
  const auto to = named(file);
  service_.download(fmt::format("{}/{}", kArtifacts, percent_encoded(from + "/" + file, true)), to);
  if (!checksum.empty() && checksum_of(to) != checksum) {
    std::filesystem::remove(to);
    throw data_error(
        fmt::format("[models] the file of {} has another checksum than the one registered ({}); it was "
                    "altered at the service: register the model again",
                    fixed_address(version.name, version.version), checksum));
  }
  storage::write_note(to,
                      {{.etag = checksum, .modified = {}, .size = static_cast<int64_t>(std::filesystem::file_size(to))},
                       fixed_address(version.name, version.version),
                       storage::piece_sums_of(to)});
  storage::make_room();
  return to;
}

std::string local_model(const std::string& text, std::string* fixed) {
  if (!is_model_address(text)) return storage::local_copy(text);
  ServiceClient service(find_login(""));
  ModelCatalog catalog(service);
  const CatalogVersion version = catalog.find(parse_model_address(text));
  const auto folder =
      storage::cache_folder() / "models" / name_as_folder(version.name) / std::to_string(version.version);
  const auto file = catalog.fetch(version, folder);
  log::info(fmt::format("{} is version {} of {}: {}", text, version.version, version.name, file.string()));
  if (fixed != nullptr) *fixed = fixed_address(version.name, version.version);
  return file.string();
}

}  // namespace linac::client
