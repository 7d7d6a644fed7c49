#pragma once
// The kinds of things that belong to somebody, and how a request names them: the words in which the tables of routes
// say what they change and read. Whose a thing is, and who may read it, says ownership.h.

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/visibility.h"
#include "linac/control/launch/pilots/pilot_board.h"
#include "linac/control/service/http_words.h"

namespace linac::service {

using http::Changes;
using http::changing;
using http::Permission;
using http::Reads;
using http::showing;
using http::Thing;

inline constexpr const char *kExperimentThing = "experiment", *kRunThing = "run", *kModelThing = "model",
                            *kLoggedModelThing = "logged model", *kStudyThing = "study",  // its name
                                                                     *kUserThing = "user",
                            *kArtifactThing = "artefact",        // its path below the service's artefacts
                                *kUploadThing = "upload",        // the id of one in parts
                                    *kAgentThing = "agent",      // its id
                                        *kLeaseThing = "lease";  // the attempt's label; the secret is in a header
inline constexpr const char* kLeaseHeader = "linac-lease";

/// In the same words for what is not there and for what is not for the caller's eyes.
Refusal not_there(const Thing& thing);
/// Who asks, as the catalog knows readers.
catalog::Viewer viewer_of(const Request& request);

/// What an agent shows for the attempt of this label.
launch::LeaseClaim lease_claim(const Request& request, const std::string& label);

/// The thing that a variable of the path names.
Changes::Find by_variable(const char* kind, const char* variable);
/// The thing that a field of the body names; nothing if it was not sent.
Changes::Find by_field(const char* kind, const char* field);
/// The things that a list of the body, or of the query, names; kInvalid for more than kNamedMax.
Changes::Find by_list(const char* kind, const char* field);
constexpr size_t kNamedMax = 1000;
/// All that each of them finds.
Changes::Find both(Changes::Find one, Changes::Find other);

}  // namespace linac::service
