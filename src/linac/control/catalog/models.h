#pragma once
// The model catalog: registered models, their versions, stages and aliases, as MLflow's model registry has them. What
// linac adds to a version (schema, units, taxonomy, provenance, checksum) are tags with names under "linac." and the
// file `linac-model.json` of its artefacts.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/catalog/experiments.h"

namespace linac::catalog {

struct ModelVersion {
  std::string model;
  int64_t version = 0;
  std::string source, run, description, user;
  std::string files;           // as in NewVersion
  std::string stage = "None";  // None, Staging, Production, Archived
  std::string status = "READY";
  int64_t created_ms = 0, updated_ms = 0;
  Tags tags;
  std::vector<std::string> aliases;
};

struct RegisteredModel {
  std::string name, description, user;  // who made it; empty: nobody
  Visibility visibility = Visibility::kPrivate;
  int64_t created_ms = 0, updated_ms = 0;
  Tags tags;  // without kVisibilityTag
  std::map<std::string, int64_t> aliases;
  std::vector<ModelVersion> latest;  // of each stage
};

/// kExists for a name that is taken, kInvalid for an empty one or one with '/', ':' or '%'. A kVisibilityTag among the
/// tags counts more than `visibility`.
RegisteredModel create_model(Database& database, const std::string& name, const std::string& description,
                             const Tags& tags, const std::string& user = {},
                             Visibility visibility = Visibility::kPrivate);
RegisteredModel model(Database& database, const std::string& name);  // kNotFound
void rename_model(Database& database, const std::string& name, const std::string& to);
void describe_model(Database& database, const std::string& name, const std::string& description);
void delete_model(Database& database, const std::string& name);  // with its versions
void set_model_visibility(Database& database, const std::string& name, Visibility visibility);
/// Of kVisibilityTag they set the visibility.
void set_model_tag(Database& database, const std::string& name, const std::string& key, const std::string& value);
void delete_model_tag(Database& database, const std::string& name, const std::string& key);
void set_alias(Database& database, const std::string& name, const std::string& alias, int64_t version);
void delete_alias(Database& database, const std::string& name, const std::string& alias);
ModelVersion version_by_alias(Database& database, const std::string& name, const std::string& alias);  // kNotFound

struct NewVersion {
  std::string source, run, description, user;
  Tags tags{};
  std::string files{};  // where `source` leads to, at the service; empty: elsewhere, or not known
};
/// The next version of the model; kNotFound if there is no such model.
ModelVersion create_version(Database& database, const std::string& name, const NewVersion& version);
ModelVersion version(Database& database, const std::string& name, int64_t number);  // kNotFound
void describe_version(Database& database, const std::string& name, int64_t number, const std::string& description);
/// `archive_others`: versions that are in this stage go to Archived.
ModelVersion transition_version(Database& database, const std::string& name, int64_t number, const std::string& stage,
                                bool archive_others);
void delete_version(Database& database, const std::string& name, int64_t number);
void set_version_tag(Database& database, const std::string& name, int64_t number, const std::string& key,
                     const std::string& value);
void delete_version_tag(Database& database, const std::string& name, int64_t number, const std::string& key);

Page<RegisteredModel> search_models(Database& database, const Viewer& viewer, const std::string& filter,
                                    const std::vector<std::string>& order, int64_t limit, const std::string& token);
Page<ModelVersion> search_versions(Database& database, const Viewer& viewer, const std::string& filter,
                                   const std::vector<std::string>& order, int64_t limit, const std::string& token);

}  // namespace linac::catalog
