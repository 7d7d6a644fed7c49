#pragma once
// Who may read what. A thing is read by its owner, by admins, and by everybody with a token if it is shared. What is
// shared or private is an experiment or a registered model; runs, studies and logged models follow their experiment,
// versions and aliases their model (docs/internals/decisions/visibility.md).
//
// Lists and searches are asked by a Viewer, who is part of their SQL: what he may not read is on no page and in no
// count. The functions work within the transaction of the connection they are given.

#include <optional>
#include <string>
#include <string_view>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

enum class Visibility { kPrivate, kShared };
const char* to_string(Visibility visibility);  // "private"
/// kInvalid for a word that is none.
Visibility visibility(const std::string& word);

/// A tag of experiments and models that is no tag: who sets it sets their visibility, and who takes it away makes them
/// private.
constexpr const char* kVisibilityTag = "linac.visibility";

/// Who reads.
struct Viewer {
  std::string user;
  bool all = false;  // an admin

  static Viewer of_all() { return {"", true}; }
};

/// Who may read a thing beside admins: its owner (empty: nobody), or everybody.
struct Audience {
  std::string owner;
  bool everybody = false;
};
bool may_read(const Viewer& viewer, const Audience& audience);  // by may.h

// Nothing for what is not there; what is deleted is.
std::optional<Audience> audience_of_experiment(Database& database, int64_t id);
std::optional<Audience> audience_of_run(Database& database, const std::string& id);
std::optional<Audience> audience_of_logged_model(Database& database, const std::string& id);
std::optional<Audience> audience_of_model(Database& database, const std::string& name);
std::optional<Audience> audience_of_study(Database& database, const std::string& name);

/// Names are given once for all: kDenied for one that another's private experiment (model) has, so that his is neither
/// shown nor taken for one's own. What the viewer may read is left to who makes the thing.
void refuse_hidden_experiment_name(Database& database, const Viewer& viewer, const std::string& name);
void refuse_hidden_model_name(Database& database, const Viewer& viewer, const std::string& name);
void refuse_hidden_study_name(Database& database, const Viewer& viewer, const std::string& name);

/// Conditions of SQL for Search (search.h), in which {viewer} stands for the viewer's name: of `runs r`, `experiments
/// e`, `models m`, `logged_models m`.
constexpr std::string_view kReadableRuns =
    "(r.user_name = {viewer} OR r.experiment IN (SELECT id FROM experiments WHERE shared = 1))";
// Number 0 is everybody's, and what is in it is not.
constexpr std::string_view kReadableExperiments = "(e.shared = 1 OR e.id = 0 OR e.user_name = {viewer})";
constexpr std::string_view kReadableModels = "(m.shared = 1 OR m.user_name = {viewer})";
constexpr std::string_view kReadableLoggedModels =
    "(m.user_name = {viewer} OR m.experiment IN (SELECT id FROM experiments WHERE shared = 1))";

}  // namespace linac::catalog
