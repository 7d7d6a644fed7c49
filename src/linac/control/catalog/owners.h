#pragma once
// Places of artefacts, and whose they are: the name of a user, who may change what lies there; empty for what belongs
// to nobody, which admins alone change. Owners never change. All functions work within the transaction of the
// connection they are given.

#include <cstdint>
#include <optional>
#include <string>

#include "linac/control/catalog/visibility.h"

namespace linac::catalog {

/// A run, or a logged model: who may read it, and where its artefacts are, as in Run::artifact_uri.
struct OwnedPlace {
  Audience audience;
  std::string artifact_uri;
};
std::optional<OwnedPlace> place_of_run(Database& database, const std::string& id);
std::optional<OwnedPlace> place_of_logged_model(Database& database, const std::string& id);

/// Whose a folder of artefacts is that belongs to no run and no logged model: of who wrote into it first.
std::optional<std::string> place_owner(Database& database, const std::string& place);
/// Gives it to `user`, unless it is somebody's already; whose it is then.
std::string take_place(Database& database, const std::string& place, const std::string& user);
/// Whether an experiment keeps its artefacts at `uri` or below.
bool experiment_lies_below(Database& database, const std::string& uri);
/// Whether `path`, of the service's artefacts, is what a version of a shared model is made of, and of the same owner:
/// who shares a model shares its files, and nobody those of another.
bool shown_by_a_model(Database& database, const std::string& path, const std::string& owner);

/// Whether `run` is a job of the queue that has not ended, whose state is the queue's alone (queue.h).
bool is_queued(Database& database, const std::string& run);

}  // namespace linac::catalog
