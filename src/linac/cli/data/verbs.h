#pragma once
// The verbs that need no LibTorch, one file each. A verb adds its options to the parser and runs in its callback; it
// reports failure by throwing.

#include <CLI/CLI.hpp>

#include "linac/cli/common/handed_verbs.h"
#include "linac/cli/common/verbs.h"

namespace linac::cli {

// void add_NAME_verb(CLI::App& app), of each in the table
#define LINAC_DECLARE(name, summary) void add_##name##_verb(CLI::App& app);
LINAC_VERBS(LINAC_NO_VERB, LINAC_DECLARE, LINAC_NO_VERB)
#undef LINAC_DECLARE

}  // namespace linac::cli
