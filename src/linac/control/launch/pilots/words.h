#pragma once
// What agents and the service tell each other, as JSON. The readers of foreign words (those of an agent at the service,
// those of the service at an agent) throw kInvalid for what the writers do not write. Thread-safe functions.

#include <nlohmann/json_fwd.hpp>

#include "linac/control/launch/pilots/pilot_board.h"

namespace linac::launch {

/// The label of an attempt as a name of files: letters, digits and '-', 100 at most.
bool is_label(const std::string& label);
/// The id of an agent: 32 hexadecimal digits.
bool is_agent_id(const std::string& id);

/// Work as the agent gets it: with its secrets, for nobody else's eyes.
nlohmann::json to_json(const HandedWork& work);
HandedWork work_from_json(const nlohmann::json& json);

nlohmann::json to_json(const AttemptUse& use);
AttemptUse use_from_json(const nlohmann::json& json);

/// The end of an attempt as an agent tells it.
Exit told_exit(const nlohmann::json& json);

}  // namespace linac::launch
