#pragma once
// Whether the image of a container can be had: its registry is asked, and nothing is brought. By the OCI Distribution
// Specification 1.1 (HEAD /v2/NAME/manifests/REFERENCE, with the token of whom an answer 401 names), as nobody: no
// login of a user is sent. Thread-safe.

#include <chrono>
#include <optional>
#include <string>

#include "linac/control/sites/site.h"

namespace linac::sites {

struct ImageReference {
  std::string registry, repository, version;  // of the last: a tag, or a digest, "sha256:..."
};
/// "linac:1.0", "registry.example.org/calo/linac", "NAME@sha256:..." as docker reads them; nothing for what is none.
std::optional<ImageReference> image_reference(const std::string& text);

inline constexpr std::chrono::seconds kRegistryPatience{10};

/// Not good: the registry answers that it has none such. Doubtful: it is not reached from here, wants a login, or says
/// something else; whoever runs the image may have it. Comes within `patience`. `address`: with docker:// or oras://
/// before it, or without.
Finding ask_registry(const std::string& address, std::chrono::seconds patience = kRegistryPatience);

}  // namespace linac::sites
