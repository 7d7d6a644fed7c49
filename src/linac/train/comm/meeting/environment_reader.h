#pragma once
// Typed reading of environment variables with errors that name the variable. Holds a reference to the lookup, which
// must outlive it.

#include <optional>
#include <string>

#include "linac/train/comm/meeting/rendezvous.h"

namespace linac::comm {

class EnvironmentReader {
 public:
  explicit EnvironmentReader(const EnvironmentLookup& lookup) : lookup_(lookup) {}

  /// The value; an empty one counts as unset.
  std::optional<std::string> text(const std::string& name) const;
  /// User error "NAME is not set (because)".
  std::string required_text(const std::string& name, const std::string& because) const;
  /// A whole decimal number within [low, high], else a user error.
  std::optional<int> optional_int(const std::string& name, int low, int high) const;
  int required_int(const std::string& name, int low, int high, const std::string& because) const;

 private:
  const EnvironmentLookup& lookup_;
};

}  // namespace linac::comm
