#pragma once
// The key by which the service proves to be the one that made a token (http's own_certificate.h): made at the first
// start, in no backup. Thread-safe.

#include <filesystem>
#include <string>

#include "linac/control/http/server/own_certificate.h"
#include "linac/control/service/data_folder.h"

namespace linac::service {

inline std::filesystem::path service_key_file(const std::filesystem::path& data) {
  return data / kPrivateFolder / "service.pem";
}

/// What new tokens end with; "" where there is no key yet. Errors of kept_certificate(). Reads a file.
inline std::string certificate_of_tokens(const std::filesystem::path& data) {
  const auto kept = http::kept_certificate(service_key_file(data));
  return kept ? kept->fingerprint : "";
}

}  // namespace linac::service
