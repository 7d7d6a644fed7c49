#pragma once
// A launch at several sites, SITE+SITE:LABEL, as the verbs have it: what each part says, together. One thread.

#include <cstdint>

#include "linac/control/sites/record.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {

bool is_several(const sites::LaunchName& name);

/// How all of it stands, and each part.
void print_parts(const sites::LaunchName& name, bool as_json);
/// What all have printed, "[farm] ..." line by line; as print_launch_log().
int print_parts_log(const sites::LaunchName& name, int64_t from, bool follow);
/// Each part, also where one before it fails, whose error is thrown in the end.
void cancel_parts(const sites::LaunchName& name);
/// All of it, where all has ended without success. Where parts go on, those that are lost come back to them. Otherwise
/// a user error: the workers of one would wait for the others in vain.
void resume_parts(const sites::LaunchName& name);
/// Whether it is a part that is lost while others go on, and can come back to them. False for a launch at one site;
/// user error for another part.
bool comes_back(const sites::KeptLaunch& kept);

}  // namespace linac::cli
