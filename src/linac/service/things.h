#pragma once
// The kinds of things that belong to somebody, and how a request names them: the words in which the tables of routes
// say what they change. Whose a thing is says ownership.h.

#include "linac/service/http_words.h"

namespace linac::service {

using http::Changes;
using http::changing;
using http::Permission;
using http::Thing;

inline constexpr const char *kExperimentThing = "experiment", *kRunThing = "run", *kModelThing = "model",
                            *kLoggedModelThing = "logged model", *kUserThing = "user",
                            *kArtifactThing = "artefact",  // its path below the service's artefacts
                                *kUploadThing = "upload";  // the id of one in parts

/// The thing that a variable of the path names.
Changes::Find by_variable(const char* kind, const char* variable);
/// The thing that a field of the body names; nothing if it was not sent.
Changes::Find by_field(const char* kind, const char* field);
/// All that each of them finds.
Changes::Find both(Changes::Find one, Changes::Find other);

}  // namespace linac::service
