#include "linac/cli/control/verbs.h"

namespace linac::cli {

void add_control_verbs(CLI::App& app) {
#define LINAC_ADD(name) add_##name##_verb(app);
  LINAC_VERBS(LINAC_NO_VERB, LINAC_NO_VERB, LINAC_ADD)
#undef LINAC_ADD
}

}  // namespace linac::cli
