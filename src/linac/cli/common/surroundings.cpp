#include "linac/cli/common/surroundings.h"

#include <cstdlib>
#include <system_error>

namespace linac::cli {
namespace {

constexpr const char* kKnownToLibraries = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kElsewhere[] = {"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"};

bool is_there(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::exists(path, none);
}

}  // namespace

void find_surroundings(const std::filesystem::path& program) {
  const auto fonts = program.parent_path() / "share" / "linac" / "fonts" / "fonts.conf";
  if (is_there(fonts)) setenv("FONTCONFIG_FILE", fonts.c_str(), /*overwrite=*/0);
  if (std::getenv("SSL_CERT_FILE") != nullptr || std::getenv("SSL_CERT_DIR") != nullptr || is_there(kKnownToLibraries))
    return;
  for (const char* const place : kElsewhere) {
    if (!is_there(place)) continue;
    setenv("SSL_CERT_FILE", place, /*overwrite=*/0);
    return;
  }
}

}  // namespace linac::cli
