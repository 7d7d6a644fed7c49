#pragma once
// A launch as a task of PanDA: the parameters that prun of panda-client 2.2.0 makes for the same, field by field
// (tests/sites/panda_test.py). Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>

#include "linac/control/sites/panda/access.h"
#include "linac/control/sites/panda/settings.h"

namespace linac::sites {

/// "user.me.topology-20260131-140509-3fa4/": the name by which a launch is found again.
std::string panda_task_name(const PandaSettings& settings, const std::string& label);

/// "rucio://user.me:user.me.NAME_run.tgz": where the run's folder of a launch comes that is kept nowhere else.
std::string panda_run_data_set(const PandaSettings& settings, const std::string& label);

/// User error, beginning with `place`, for what can be no task.
nlohmann::json panda_task(const PandaSettings& settings, const PandaAccess& server, const Launch& launch,
                          const std::string& place);

/// What a task does: equal for one that the server has and one that is to be submitted if they are the same launch.
std::string what_task_does(const nlohmann::json& task);

}  // namespace linac::sites
