#pragma once
// Launches as the verbs `status`, `logs` and `cancel` have them: SITE:LABEL, where those of a service have a name or an
// id. One thread.

#include <cstdint>
#include <optional>
#include <string>

namespace linac::cli {

struct LaunchName {
  std::string site, label;  // the beginning of a label; empty: all of the site
};
/// Nothing if what stands before the first ':' is no site: then it is a run of a service.
std::optional<LaunchName> launch_named(const std::string& text);

/// How one stands, or with an empty label a table of all that were launched there from here.
void print_launch(const LaunchName& name, bool as_json);

/// Prints its log from byte `from` on (less than 0: so many from the end); with `follow` until it has ended. The exit
/// status of a verb that waited for it, 0 without `follow`.
int print_launch_log(const LaunchName& name, int64_t from, bool follow);

void cancel_launch(const LaunchName& name);

}  // namespace linac::cli
