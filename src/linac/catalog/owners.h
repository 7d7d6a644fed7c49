#pragma once
// Who made a thing, and so may change it: the name of a user; empty for what belongs to nobody, which admins alone
// change. Owners never change, and ids are never given twice; names of models are. All functions work within the
// transaction of the connection they are given.

#include <cstdint>
#include <optional>
#include <string>

#include "linac/catalog/database.h"

namespace linac::catalog {

std::string experiment_owner(Database& database, int64_t id);               // kNotFound
std::string run_owner(Database& database, const std::string& id);           // kNotFound; also of a deleted one
std::string logged_model_owner(Database& database, const std::string& id);  // kNotFound; also of a deleted one
std::string model_owner(Database& database, const std::string& name);       // kNotFound

/// A run, or a logged model, and where its artefacts are, as in Run::artifact_uri.
struct OwnedPlace {
  std::string owner, artifact_uri;
};
std::optional<OwnedPlace> place_of_run(Database& database, const std::string& id);
std::optional<OwnedPlace> place_of_logged_model(Database& database, const std::string& id);

/// Whose a folder of artefacts is that belongs to no run and no logged model: of who wrote into it first.
std::optional<std::string> place_owner(Database& database, const std::string& place);
/// Gives it to `user`, unless it is somebody's already; whose it is then.
std::string take_place(Database& database, const std::string& place, const std::string& user);
/// Whether an experiment keeps its artefacts at `uri` or below.
bool experiment_lies_below(Database& database, const std::string& uri);

/// Whether `run` is a job of the queue that has not ended, whose state is the queue's alone (queue.h).
bool is_queued(Database& database, const std::string& run);

}  // namespace linac::catalog
