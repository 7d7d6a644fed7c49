#pragma once
// Seals what users leave with the service, so that the database, or a copy of it, gives nothing: XChaCha20-Poly1305
// (libsodium) under a key that lies in a file of the service's folder and never in the database. User, name and kind
// are authenticated with the value: a row that is moved to another user, or renamed, does not open.
//
//   DATA/private/secrets.key   0600, in a folder 0700; made when the first value is sealed. One line a key, in
//                              hexadecimal digits: the one that seals, behind it those that only open (rotate())
//
// The file is read at each use, which is seldom: what an admin puts back counts at once. Thread-safe, but sealing for
// rows and rotating belong to the one thread that writes the catalog.

#include <filesystem>
#include <functional>
#include <string>

#include "linac/control/catalog/database.h"

namespace linac::service {

/// What a value is sealed for.
struct SealedFor {
  std::string user, name, kind;
};

class SecretBox {
 public:
  explicit SecretBox(std::filesystem::path data);

  /// `others`: there is something sealed already, so a key that is not there is not made but missed. Environment error
  /// for a key file that is lost, damaged or open to others, with the way out.
  catalog::Bytes seal(const SealedFor& place, const std::string& value, bool others) const;
  /// Environment error where the key is not there, or is another; data error for what was altered or moved.
  std::string open(const SealedFor& place, const catalog::Bytes& sealed) const;
  /// Whether it was sealed with a key that is there. Never an error.
  bool has_key_of(const catalog::Bytes& sealed) const;

  /// A new key, which seals from now on; those before open what they sealed until forget_former_keys().
  void add_key() const;
  void forget_former_keys() const;

  const std::filesystem::path& file() const { return file_; }

 private:
  const std::filesystem::path file_;
};

}  // namespace linac::service
