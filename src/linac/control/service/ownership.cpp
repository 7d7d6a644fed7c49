#include "linac/control/service/ownership.h"

#include <fmt/format.h>

#include <charconv>

#include "linac/base/base/clock.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/utf8.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/catalog/may.h"
#include "linac/control/catalog/owners.h"
#include "linac/control/catalog/users.h"
#include "linac/control/service/catalog_access.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/secrets.h"

namespace linac::service {
namespace {

using catalog::Database;

constexpr const char* kUploadTokenHeader = "linac-upload-token";
constexpr size_t kObjectBytesMax = 1000;

/// A change by somebody else.
[[noreturn]] void refuse(const Request& request, const Thing& thing, const catalog::Audience& audience) {
  const bool seen = may_read(viewer_of(request), audience) || thing.kind == kUserThing;  // names of users are no secret
  if (!seen && thing.kind != kArtifactThing) throw not_there(thing);
  const std::string owner = seen ? audience.owner : "";  // a place that there is not is nobody's, too
  const std::string whose = owner.empty() ? "to nobody; only an admin changes it"
                                          : fmt::format("to '{}'; only its owner or an admin changes it", owner);
  throw Refusal(RefusalKind::kDenied,
                fmt::format("[{}] the {} '{}' belongs {}", request.route ? request.route->name : "service", thing.kind,
                            printable(thing.id.substr(0, 200)), whose));
}

bool hexadecimal(std::string_view text, size_t digits) {
  return text.size() == digits && is_hex(text);
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Whether `path` is the place of `uri`, lies below it, or is the part of it that ends at `end`.
bool lies_at(const std::string& path, size_t end, const std::string& uri) {
  const auto place = catalog::own_artifacts(uri);
  if (!place) return false;
  return path == *place || path.starts_with(*place + "/") || (path.size() == end && place->starts_with(path + "/"));
}

struct PlaceFound {
  catalog::Audience audience;
  std::string to_take;  // a folder that is nobody's yet, and may be taken
};

PlaceFound found_place(Database& database, const std::string& path) {
  const std::vector<std::string> parts = parts_of(path);
  size_t end = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    end += parts[i].size() + (i > 0);
    std::optional<catalog::OwnedPlace> found;
    if (hexadecimal(parts[i], 32)) found = catalog::place_of_run(database, parts[i]);
    if (parts[i].starts_with("m-") && hexadecimal(parts[i].substr(2), 32))
      found = catalog::place_of_logged_model(database, parts[i]);
    if (!found || !lies_at(path, end, found->artifact_uri)) continue;
    catalog::Audience audience = std::move(found->audience);
    audience.everybody = audience.everybody || catalog::shown_by_a_model(database, path, audience.owner);
    return {std::move(audience), ""};
  }
  constexpr size_t kModelPlaceParts = 3;  // models/NAME/CHECKSUM, and files in it
  if (parts.front() != "models" || parts.size() < kModelPlaceParts) return {};
  const std::string place = fmt::format("models/{}/{}", parts[1], parts[2]);
  if (catalog::experiment_lies_below(database, "mlflow-artifacts:/" + place)) return {};
  const auto owner = catalog::place_owner(database, place);
  const bool shown = catalog::shown_by_a_model(database, path, owner.value_or(""));
  const bool may_be_taken = !owner && parts.size() > kModelPlaceParts;
  return {{owner.value_or(""), shown}, may_be_taken ? place : ""};
}

/// A folder in models/NAME is taken by who owns the model NAME, so that nobody lays files where another's will be.
void need_model_of(Database& database, const std::string& place, const std::string& user) {
  const auto name = folder_as_name(parts_of(place).at(1));
  const auto audience = name ? catalog::audience_of_model(database, *name) : std::nullopt;
  if (audience && audience->owner == user) return;
  throw Refusal(RefusalKind::kDenied,
                fmt::format("[files] '{}' is for files of a model that you own; register its name first "
                            "(registered-models/create), or choose another",
                            printable(place)));
}

/// With the files of a version of a shared model goes what MLflow knows of them.
std::optional<catalog::Audience> audience_of_logged_files(Database& database, const std::string& id) {
  auto found = catalog::place_of_logged_model(database, id);
  if (!found) return std::nullopt;
  const auto path = catalog::own_artifacts(found->artifact_uri);
  if (!found->audience.everybody && path)
    found->audience.everybody = catalog::shown_by_a_model(database, *path, found->audience.owner);
  return found->audience;
}

catalog::Audience found_audience(Database& database, const Thing& thing) {
  const auto found = [&] {
    if (thing.kind == kRunThing) return catalog::audience_of_run(database, thing.id);
    if (thing.kind == kExperimentThing)
      return catalog::audience_of_experiment(database, mlflow::experiment_id(thing.id));
    if (thing.kind == kLoggedModelThing) return audience_of_logged_files(database, thing.id);
    if (thing.kind == kStudyThing) return catalog::audience_of_study(database, thing.id);
    LINAC_CHECK(thing.kind == kModelThing);
    return catalog::audience_of_model(database, thing.id);
  }();
  if (!found) throw not_there(thing);
  return *found;
}

/// Nothing for what is not there, or has no owner who would mind: the handler will say what it is.
std::optional<catalog::Audience> audience_if_known(Database& database, const Thing& thing) {
  if (thing.kind == kUserThing) return catalog::Audience{thing.id, false};
  if (thing.kind == kUploadThing || thing.kind == kAgentThing || thing.kind == kLeaseThing) return std::nullopt;
  try {
    if (thing.kind == kArtifactThing) return found_place(database, harmless_path(thing.id)).audience;
    return found_audience(database, thing);
  } catch (const Refusal&) {
    return std::nullopt;
  }
}

/// Its id; of an artefact the run's folder, so that a thousand files are read once.
std::string folder_of(const Thing& thing) {
  if (thing.kind != kArtifactThing) return thing.id;
  const size_t first = thing.id.find('/');
  return thing.id.substr(0, first == std::string::npos ? first : thing.id.find('/', first + 1));
}

/// Of a body that is about to come.
int64_t length_of(const Request& request) {
  const std::string& text = request.header("content-length");
  int64_t bytes = -1;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (bytes < 0) throw Refusal(RefusalKind::kInvalid, "[files] a part needs the header Content-Length");
  return bytes;
}

std::string object_of(const Request& request) {
  std::string object;
  for (const Thing& thing : request.things) {
    if (!object.empty()) object += ", ";
    object += fmt::format("{} {}", thing.kind, thing.id);
    if (object.size() > kObjectBytesMax) break;
  }
  object = printable(object);
  if (object.size() > kObjectBytesMax) object.resize(kObjectBytesMax);
  while (!valid_text(object)) object.pop_back();
  return object;
}

catalog::AuditEntry entry_of(const Request& request) {
  return {now_ms(), request.caller.user, request.route->name, object_of(request), request.caller.from};
}

}  // namespace

std::string Ownership::check_upload(const Request& request, const Thing& thing) const {
  std::string owner, hash;
  try {
    owner = uploads_.owner(thing.id);
    hash = uploads_.token_hash(thing.id);
  } catch (const Refusal&) {
    throw not_there(thing);
  }
  const std::string& token = request.header(kUploadTokenHeader);
  if (!token.empty() && same_secret(keyed_hash(token), hash)) return request.caller.user;
  if (request.caller.access == Access::kOpen)
    throw Refusal(RefusalKind::kUnknown,
                  "[files] a part needs its upload's header Linac-Upload-Token, or the token of who began it");
  return owner;
}

Task<catalog::Audience> Ownership::audience_of_artifact(const Request& request, const std::string& name, bool changes) {
  const std::string path = harmless_path(name);
  PlaceFound found = co_await reading(context_, [&](Database& database) { return found_place(database, path); });
  const bool takes = changes && !found.to_take.empty() && request.method != Method::kDelete;
  if (!takes) co_return std::move(found.audience);
  const std::string owner = co_await writing(
      context_,
      [&](Database& database) {
        need_model_of(database, found.to_take, request.caller.user);
        return catalog::take_place(database, found.to_take, request.caller.user);
      },
      who_asks(request));
  co_return catalog::Audience{owner, false};
}

std::optional<std::string> Ownership::remembered(const std::string& key) {
  const std::shared_lock lock(mutex_);
  const auto found = remembered_.find(key);
  return found == remembered_.end() ? std::nullopt : std::optional(found->second);
}

Task<catalog::Audience> Ownership::audience_of(const Request& request, const Thing& thing, bool changes) {
  if (thing.kind == kUserThing) co_return catalog::Audience{thing.id, false};
  if (thing.kind == kUploadThing) co_return catalog::Audience{check_upload(request, thing), false};
  if (thing.kind == kAgentThing) {
    const std::string user = pilots_.user_of_agent(thing.id);
    co_return catalog::Audience{user.empty() ? request.caller.user : user, false};
  }
  if (thing.kind == kLeaseThing) {
    pilots_.check(lease_claim(request, thing.id));
    co_return catalog::Audience{request.caller.user, false};
  }
  if (thing.kind == kArtifactThing) {
    catalog::Audience audience = co_await audience_of_artifact(request, thing.id, changes);
    co_return std::move(audience);
  }
  // Names of models and studies are given again. Who changes a study is checked once more when it is his turn (Desks).
  const bool remembers = thing.kind != kModelThing && (thing.kind != kStudyThing || changes);
  const std::string key = thing.kind + ' ' + thing.id;
  if (remembers) {
    const auto owner = remembered(key);
    if (owner && (*owner == request.caller.user || request.caller.access == Access::kAdmin))
      co_return catalog::Audience{*owner, false};
  }
  catalog::Audience audience =
      co_await reading(context_, [&](Database& database) { return found_audience(database, thing); });
  if (remembers) {
    const std::unique_lock lock(mutex_);
    if (remembered_.size() >= kRememberedMax) remembered_.clear();
    remembered_[key] = audience.owner;
  }
  co_return std::move(audience);
}

Task<void> Ownership::check(Request& request) {
  const catalog::Viewer viewer = viewer_of(request);
  for (const Thing& thing : request.things) {
    if (viewer.all && thing.kind == kArtifactThing) continue;  // whose it is makes no difference, and takes a while
    const catalog::Audience audience = co_await audience_of(request, thing, true);
    const bool by_its_secret = thing.kind == kUploadThing && audience.owner == request.caller.user;
    if (!by_its_secret && !may(catalog::person(viewer), catalog::Action::kChange, audience))
      refuse(request, thing, audience);
    if (!by_its_secret && audience.owner != request.caller.user) request.of_another = true;
  }
  if (viewer.all && !request.reads.empty()) {
    co_await note_reads(request);
  }
  for (const Thing& thing : request.reads) {
    if (viewer.all) break;
    const catalog::Audience audience = co_await audience_of(request, thing, false);
    if (may_read(viewer, audience)) continue;
    if (thing.kind == kUserThing) refuse(request, thing, audience);
    throw not_there(thing);
  }
  for (const Thing& thing : request.things)
    if (thing.kind == kUploadThing && request.method == Method::kPut)
      request.held = uploads_.expect(thing.id, length_of(request));
}

/// And it is from now on.
bool Ownership::noted_lately(const std::string& key) {
  const std::unique_lock lock(mutex_);
  if (noted_.size() >= kRememberedMax) noted_.clear();
  const int64_t now = now_ms();
  int64_t& last = noted_[key];
  if (now - last < kNotedAgainMs) return true;
  last = now;
  return false;
}

Task<void> Ownership::note_reads(const Request& request) {
  std::vector<const Thing*> looked_at;
  for (const Thing& thing : request.reads)
    if (!noted_lately(fmt::format("{} reads {} {}", request.caller.user, thing.kind, folder_of(thing))))
      looked_at.push_back(&thing);
  if (looked_at.empty()) co_return;
  const catalog::Viewer as_anybody{request.caller.user};
  auto entries = co_await reading(context_, [&](Database& database) {
    std::vector<catalog::AuditEntry> found;
    for (const Thing* thing : looked_at) {
      const auto audience = audience_if_known(database, *thing);
      if (!audience || audience->owner.empty() || may_read(as_anybody, *audience)) continue;
      found.push_back({now_ms(), request.caller.user, "read",
                       fmt::format("{} {} of {}", thing->kind, printable(folder_of(*thing)), audience->owner),
                       request.caller.from});
    }
    return found;
  });
  note_aside(context_, std::move(entries));
}

Task<void> Ownership::note(const Request& request) {
  if (!request.route->changes.noted_each && noted_lately(request.caller.user + ' ' + object_of(request))) co_return;
  const catalog::AuditEntry entry = entry_of(request);
  co_await writing(
      context_, [&](Database& database) { catalog::audit(database, entry); }, who_asks(request));
}

void check_models_again(Database& database, const Request& request) {
  const bool things = request.route && request.route->changes.what == Changes::What::kThings;
  if (!things || request.caller.access == Access::kAdmin) return;
  for (const Thing& thing : request.things) {
    if (thing.kind != kModelThing) continue;
    const catalog::Audience audience = found_audience(database, thing);
    if (audience.owner.empty() || audience.owner != request.caller.user) refuse(request, thing, audience);
  }
}

void note_change(Database& database, Request& request) {
  if (!request.route || request.noted || !request.route->changes.noted_each) return;
  using What = Changes::What;
  const What what = request.route->changes.what;
  if (what != What::kThings && what != What::kAdmins && what != What::kNew) return;
  catalog::audit(database, entry_of(request));
  request.noted = true;
}

}  // namespace linac::service
