#pragma once
// How many workers a run is to have, as people say it: "4", or "2:4" for four that go on while two are left. Pure,
// thread-safe.

#include <string>
#include <vector>

namespace linac::train {

/// What is wrong with such a text, or "".
std::string is_worker_range(const std::string& text);

/// The settings of a job that it stands for.
std::vector<std::string> overrides_of_workers(const std::string& range);

}  // namespace linac::train
