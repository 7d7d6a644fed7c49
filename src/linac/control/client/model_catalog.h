#pragma once
// The catalog of models as the verbs see it: MLflow's model registry at a service, so another MLflow server would do as
// well. Of a version that linac registers, the file, its checksum and its inputs and outputs are tags:
//
//   linac.file  linac.checksum  linac.bytes  linac.inputs  linac.outputs  linac.from
//
// and beside the file lies linac-model.json with where it comes from. One thread.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/control/client/model_address.h"
#include "linac/control/client/service_client.h"

namespace linac::client {

struct CatalogVersion {
  std::string name;
  int64_t version = 0;
  std::string stage, description, user, run;
  std::vector<std::string> aliases;
  std::map<std::string, std::string> tags;
  int64_t created_ms = 0;

  /// A tag's text; empty if it has none of the name.
  std::string tag(const std::string& name) const;
};

/// What is registered: a file, and all that is known of it.
struct NewModel {
  std::string name, description, alias, run;
  std::filesystem::path file;
  std::map<std::string, std::string> tags;
  nlohmann::json provenance;  // becomes linac-model.json
};

/// What was made from a version: versions of models, and runs of the service that trained on from it.
struct Dependants {
  std::vector<CatalogVersion> versions;
  std::map<std::string, std::string> runs;  // names by id
  bool none() const { return versions.empty() && runs.empty(); }
};

class ModelCatalog {
 public:
  explicit ModelCatalog(ServiceClient& service) : service_(service) {}

  /// The newest version of each model, by name. `filter` as in `linac list`.
  std::vector<CatalogVersion> models(const std::string& filter);
  /// All of one model, the newest first; user error if there is no such model.
  std::vector<CatalogVersion> versions(const std::string& name);
  /// User error if there is no such model, alias or version.
  CatalogVersion find(const ModelAddress& address);

  /// By the tag `linac.from` and the parameter `model.from`.
  Dependants dependants(const CatalogVersion& version);

  /// Uploads the file under its checksum, makes the model if it is new, and adds a version.
  CatalogVersion add(const NewModel& model);
  void set_alias(const CatalogVersion& version, const std::string& alias);
  void remove_alias(const std::string& name, const std::string& alias);
  /// None, Staging, Production or Archived.
  void set_stage(const CatalogVersion& version, const std::string& stage);

  /// "shared" (everybody with a token may read the model and the files of its versions) or "private".
  void set_visibility(const std::string& name, const std::string& visibility);

  /// The version's file, as it was registered: from `folder` if it is there already, else brought there. Data error if
  /// what arrives has another checksum than was registered.
  std::filesystem::path fetch(const CatalogVersion& version, const std::filesystem::path& folder);

 private:
  nlohmann::json mlflow(const std::string& path, const nlohmann::json& body) {
    return service_.post("/api/2.0/mlflow/" + path, body);
  }
  std::vector<CatalogVersion> search_versions(const std::string& filter);
  std::string artifact_folder(const CatalogVersion& version);
  std::string model_file(const std::string& folder, const CatalogVersion& version);

  ServiceClient& service_;
};

/// `text` itself, or, for an address of the catalog or a URL, the model's file in the cache of this user. `fixed`, if
/// given, becomes the address that never means another version.
std::string local_model(const std::string& text, std::string* fixed = nullptr);

}  // namespace linac::client
