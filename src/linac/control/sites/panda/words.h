#pragma once
// What the server's answers mean. Pure, thread-safe: objects as it gives them, which may lack anything.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

/// How a launch stands, of a task's attributes.
Standing panda_standing(const nlohmann::json& task);

/// A line for each job of a task: which, where, how it stands, and what its pilot has said.
std::string panda_job_lines(const nlohmann::json& jobs);

/// The number of the task in an answer to a submission; 0 if it has none.
int64_t submitted_task(const nlohmann::json& data, const std::string& message);

}  // namespace linac::sites
