#pragma once
// Who may change what: a thing's owner, and admins. And who may read it: those, and if it is shared everybody with a
// token (control/catalog/visibility.h). One check in front of all handlers, of what the tables of routes say that they
// change and read (things.h). What somebody may not read is to him as if it were not there.
//
//   run, study, logged model, experiment,
//   model                                  who made it; versions and aliases are their model's
//   artefact                               the run's or logged model's in whose folder it lies; in
//   models/NAME/CHECKSUM,
//                                          where `linac models` keeps files, who wrote first, who owned the model then;
//                                          elsewhere admins alone.
//                                          The files of a shared model are shared as well
//   upload                                 who began it; its parts also who knows the secret that he was told
//   user (his tokens)                      he himself
//   agent                                  whose token it asks with
//   lease                                  whose agent has it, as long as it lasts: who shows its secret
//
// Owners of what has an id of its own never change and are remembered, and of studies for those who change them.
// Whether a thing is shared can change: it is looked up each time that somebody reads what is another's. Thread-safe.

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "linac/control/http/files/uploads.h"
#include "linac/control/launch/pilots/pilot_board.h"
#include "linac/control/service/context.h"
#include "linac/control/service/things.h"

namespace linac::service {

class Ownership {
 public:
  Ownership(Context& context, http::Uploads& uploads, launch::PilotBoard& pilots)
      : context_(context), uploads_(uploads), pilots_(pilots) {}

  /// kDenied unless all of request.things are the caller's, or he is an admin; kNotFound for one that is not there, or
  /// which, as one of request.reads, is not for his eyes; kState for a lease that is over.
  Task<void> check(Request& request);
  /// Puts the change into the audit log, if it belongs there.
  Task<void> note(const Request& request);
  /// The same for what an admin reads of another's, who has not shared it.
  Task<void> note_reads(const Request& request);

  static constexpr size_t kRememberedMax = 100000;
  static constexpr int64_t kNotedAgainMs = 3600'000;  // an admin's hand in what another's run records, and his looks

 private:
  Task<catalog::Audience> audience_of(const Request& request, const Thing& thing, bool changes);
  Task<catalog::Audience> audience_of_artifact(const Request& request, const std::string& path, bool changes);
  std::string check_upload(const Request& request, const Thing& thing) const;
  std::optional<std::string> remembered(const std::string& key);
  bool noted_lately(const std::string& key);

  Context& context_;
  http::Uploads& uploads_;
  launch::PilotBoard& pilots_;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::string> remembered_;  // by kind and id
  std::unordered_map<std::string, int64_t> noted_;           // by user and thing: when
};

/// Names of models are given again: within the transaction that changes one, it must still be the caller's. kDenied.
void check_models_again(catalog::Database& database, const Request& request);
/// The change, within its own transaction.
void note_change(catalog::Database& database, Request& request);

}  // namespace linac::service
