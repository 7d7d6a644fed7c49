#pragma once
// Launches as the verbs `status`, `logs` and `cancel` have them: SITE:LABEL, or SITE+SITE:LABEL of one at several sites
// (launched_parts.h), where those of a service have a name or an id. One thread.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/sites/launching.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {

using sites::launch_named;
using sites::LaunchName;

/// What a launch would be.
void print_plan(const std::vector<sites::PlannedStep>& steps);
/// A table of what a look at a site has found. Whether all of it is well.
bool print_findings(const std::vector<sites::Finding>& findings);
/// `--as KIND` of the verbs that print one; user error without `--dry-run`.
void add_as_option(CLI::App& verb, std::string& as);
void need_dry_run(const std::string& as, bool dry_run);
/// That it was started.
void print_started(const sites::Started& started, bool followed);
/// Shows its log until it has ended, and then how it stands. The exit status of a verb that waited for it.
int follow_launch(const LaunchName& name);

/// What the site says of it now, or where it knows nothing any more what is known of the end.
sites::Standing asked_standing(const sites::Site& site, const sites::KeptLaunch& kept);

/// How one stands, or with an empty label a table of all that were launched there from here.
void print_launch(const LaunchName& name, bool as_json);

/// Prints its log from byte `from` on (less than 0: so many from the end); with `follow` until it has ended. The exit
/// status of a verb that waited for it, 0 without `follow`.
int print_launch_log(const LaunchName& name, int64_t from, bool follow);

void cancel_launch(const LaunchName& name);
/// Starts one that has ended without success once more.
void resume_launch(const LaunchName& name);

/// Stops it, waits until it has, and removes what lies there but for what it has written: its name can be used anew.
/// Environment error if it does not end.
void delete_launch(const LaunchName& name);

}  // namespace linac::cli
