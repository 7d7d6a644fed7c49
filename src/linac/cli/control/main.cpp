// The program. Verbs that compute nothing are carried out here, in milliseconds and a few megabytes, and so is the help
// of all; the others by `linac-compute` or `linac-data` beside it.

#include <cstdlib>
#include <filesystem>

#include "linac/base/base/argument_pointers.h"
#include "linac/base/base/program_start.h"
#include "linac/base/base/signals.h"
#include "linac/cli/common/command_line.h"
#include "linac/cli/common/handed_verbs.h"
#include "linac/cli/common/server_word.h"
#include "linac/cli/common/surroundings.h"
#include "linac/cli/control/database_option.h"
#include "linac/cli/control/verbs.h"
#include "linac/cli/control/wrong_job.h"

int main(int argc, char** argv) {
  linac::begin_program();
  linac::cli::find_surroundings(std::filesystem::read_symlink("/proc/self/exe").parent_path());
  linac::cli::take_server_word(argc, argv);
  const linac::cli::HandedVerb* handed = argc < 2 ? nullptr : linac::cli::handed_verb(argv[1]);
  if (handed == nullptr) {
    const auto app = linac::cli::parser();
    for (const auto& verb : linac::cli::handed_verbs()) linac::cli::add_handed_verb(*app, verb.name);
    linac::cli::add_control_verbs(*app);
    auto words = linac::cli::line_of_its_own(argc, argv);
    auto line = linac::argument_pointers(words);
    return linac::cli::run(*app, argc, line.data());
  }
  if (const auto status = linac::cli::status_of_wrong_job(argc, argv)) return *status;
  // LibTorch's threads (GNU OpenMP) would go on spinning for milliseconds, on the cores that linac's own then want.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
  return linac::cli::become(handed->program, argv);
}
