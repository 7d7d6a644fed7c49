#include "linac/control/catalog/visibility.h"

#include <fmt/format.h>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/catalog/may.h"

namespace linac::catalog {
namespace {

std::optional<Audience> audience_of(const std::optional<Row>& row) {
  if (!row) return std::nullopt;
  return Audience{row->text(0), row->integer(1) != 0};
}

void refuse_hidden(const Viewer& viewer, const char* kinds, const char* kind, const std::string& name,
                   const std::optional<Audience>& holder) {
  if (!holder || may_read(viewer, *holder)) return;
  throw Refusal(RefusalKind::kDenied,
                fmt::format("[{}] the name '{}' is taken by a {} that is not yours to see; choose another", kinds,
                            printable(name.substr(0, 200)), kind));
}

}  // namespace

const char* to_string(Visibility visibility) {
  return visibility == Visibility::kShared ? "shared" : "private";
}

Visibility visibility(const std::string& word) {
  for (const Visibility one : {Visibility::kPrivate, Visibility::kShared})
    if (word == to_string(one)) return one;
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[visibility] '{}' is none (wanted: private or shared)", printable(word.substr(0, 40))));
}

bool may_read(const Viewer& viewer, const Audience& audience) {
  return may(person(viewer), Action::kRead, audience);
}

std::optional<Audience> audience_of_experiment(Database& database, int64_t id) {
  return audience_of(
      database.first("SELECT user_name, CASE WHEN id = 0 THEN 1 ELSE shared END FROM experiments WHERE id = $1", id));
}

std::optional<Audience> audience_of_run(Database& database, const std::string& id) {
  return audience_of(database.first(
      "SELECT r.user_name, e.shared FROM runs r JOIN experiments e ON e.id = r.experiment WHERE r.id = $1", id));
}

std::optional<Audience> audience_of_logged_model(Database& database, const std::string& id) {
  return audience_of(database.first(
      "SELECT m.user_name, e.shared FROM logged_models m JOIN experiments e ON e.id = m.experiment WHERE m.id = $1",
      id));
}

std::optional<Audience> audience_of_model(Database& database, const std::string& name) {
  return audience_of(database.first("SELECT user_name, shared FROM models WHERE name = $1", name));
}

std::optional<Audience> audience_of_study(Database& database, const std::string& name) {
  return audience_of(database.first(
      "SELECT s.user_name, e.shared FROM studies s JOIN experiments e ON e.id = s.experiment WHERE s.name = $1", name));
}

void refuse_hidden_experiment_name(Database& database, const Viewer& viewer, const std::string& name) {
  const auto row = database.first("SELECT id FROM experiments WHERE name = $1", name);
  if (row) refuse_hidden(viewer, "experiments", "experiment", name, audience_of_experiment(database, row->integer(0)));
}

void refuse_hidden_model_name(Database& database, const Viewer& viewer, const std::string& name) {
  refuse_hidden(viewer, "models", "model", name, audience_of_model(database, name));
}

void refuse_hidden_study_name(Database& database, const Viewer& viewer, const std::string& name) {
  refuse_hidden(viewer, "studies", "study", name, audience_of_study(database, name));
}

}  // namespace linac::catalog
