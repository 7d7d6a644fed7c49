#pragma once
// Where the workers of a launch meet if nobody says. Pure, thread-safe.

#include <string>

namespace linac::sites {

/// From 20000 to 29999, of the launch's name.
int port_of(const std::string& label);

}  // namespace linac::sites
