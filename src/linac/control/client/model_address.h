#pragma once
// Addresses of models in a service's catalog: "catalog://NAME@ALIAS", "catalog://NAME/VERSION" or "catalog://NAME" (the
// newest version). They stand wherever the file of a model does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace linac::client {

struct ModelAddress {
  std::string name;
  std::string alias;    // or
  int64_t version = 0;  // or, with neither, the newest
};

bool is_model_address(std::string_view text);
/// User error for an address that is none, with the forms there are.
ModelAddress parse_model_address(std::string_view text);
/// "catalog://NAME/VERSION", which never means another model.
std::string fixed_address(const std::string& name, int64_t version);

}  // namespace linac::client
