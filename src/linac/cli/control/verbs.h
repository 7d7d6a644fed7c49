#pragma once
// The verbs of the control plane, one file each (cancel.cpp has resume, too): they speak to a service, or are one, or
// bring jobs to other systems, and compute nothing. A verb adds its options to the parser and runs in its callback; it
// reports failure by throwing.

#include <CLI/CLI.hpp>

#include "linac/cli/common/verbs.h"

namespace linac::cli {

// void add_NAME_verb(CLI::App& app), of each in the table
#define LINAC_DECLARE(name) void add_##name##_verb(CLI::App& app);
LINAC_VERBS(LINAC_NO_VERB, LINAC_NO_VERB, LINAC_DECLARE)
#undef LINAC_DECLARE

/// All of them, in the order of their help.
void add_control_verbs(CLI::App& app);

}  // namespace linac::cli
