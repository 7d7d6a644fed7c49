#pragma once
// A key of the server's own with a certificate that it has signed itself, by which clients that know the certificate's
// fingerprint tell this server from whoever else listens at its port. They look at nothing else of it, neither at names
// nor at dates. Thread-safe.

#include <filesystem>
#include <optional>
#include <string>

namespace linac::http {

struct OwnCertificate {
  std::string pem;          // certificate and key
  std::string fingerprint;  // of the certificate: SHA-256 of its DER form, 64 hexadecimal digits
};

/// That of the file; nothing if it is not there. User error for one that others can read or that is no key with its
/// certificate; environment error if it cannot be read.
std::optional<OwnCertificate> kept_certificate(const std::filesystem::path& file);
/// The same, or a new one that is kept there (0600, in a folder 0700). Environment error if it cannot be.
OwnCertificate own_certificate(const std::filesystem::path& file);

}  // namespace linac::http
