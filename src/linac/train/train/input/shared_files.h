#pragma once
// Files that train and test: what a test on them says holds for the training alone. Pure, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace linac::train {

/// `data`: LoopData::data(). Of each test file that is a training file too, by its name or its content: "a.h5", "b.h5
/// (the content of a.h5)".
std::vector<std::string> shared_files(const nlohmann::json& data);

/// Logs a warning that names some of them.
void warn_of_shared_files(const nlohmann::json& data);

}  // namespace linac::train
