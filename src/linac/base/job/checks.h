#pragma once
// What the checks of a job have in common. Thread-safe functions.

#include <string>
#include <vector>

namespace linac::job {

/// User error "[job] where: what" unless it holds.
void need(bool holds, const std::string& where, const std::string& what);
/// User error naming `key`, what is known and what is nearest, unless `value` is one of those.
void need_one_of(const std::string& value, const std::vector<std::string>& known, const std::string& where,
                 const std::string& key);

}  // namespace linac::job
