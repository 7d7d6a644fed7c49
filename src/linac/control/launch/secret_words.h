#pragma once
// The secrets of a command as JSON: [{"name", "value", "file"}], the values in hexadecimal digits, as they may be any
// bytes. Thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "linac/control/launch/command.h"

namespace linac::launch {

nlohmann::json to_json(const std::vector<Secret>& secrets);
/// Nothing where a value has other digits; nlohmann's exceptions, whose messages may have a part of it, for other
/// forms.
std::optional<std::vector<Secret>> secrets_from_json(const nlohmann::json& told);

}  // namespace linac::launch
