#pragma once
// The names of launches and sites: words that no shell, path or batch system takes for something else. Thread-safe.

#include <string>

namespace linac::sites {

/// Letters, digits and ._-, beginning with one of the first two; 1 to 100 of them.
bool is_label(const std::string& text);

/// "demo-20260131-140509-3fa4": of a job's name, the time and chance, so that nobody has it twice.
std::string new_label(const std::string& job_name);

}  // namespace linac::sites
