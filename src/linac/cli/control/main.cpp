// The program. Verbs that compute nothing are carried out here, in milliseconds and a few megabytes, and so is the help
// of all; the others by `linac-compute` beside it, which loads LibTorch.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "linac/base/base/argument_pointers.h"
#include "linac/base/base/error.h"
#include "linac/base/base/program_start.h"
#include "linac/base/base/signals.h"
#include "linac/cli/common/command_line.h"
#include "linac/cli/common/compute_verbs.h"
#include "linac/cli/common/server_word.h"
#include "linac/cli/common/surroundings.h"
#include "linac/cli/control/database_option.h"
#include "linac/cli/control/verbs.h"

int main(int argc, char** argv) {
  linac::begin_program();
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  linac::cli::find_surroundings(folder);
  linac::cli::take_server_word(argc, argv);
  if (argc < 2 || !linac::cli::is_compute_verb(argv[1])) {
    const auto app = linac::cli::parser();
    for (const auto& verb : linac::cli::compute_verbs()) linac::cli::add_compute_verb(*app, verb.name);
    linac::cli::add_control_verbs(*app);
    auto words = linac::cli::line_of_its_own(argc, argv);
    auto line = linac::argument_pointers(words);
    return linac::cli::run(*app, argc, line.data());
  }
  const linac::HeldStopSignals until_it_heeds_them;
  // LibTorch's threads (GNU OpenMP) would go on spinning for milliseconds, on the cores that linac's own then want.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
  const auto program = folder / "linac-compute";
  execv(program.c_str(), argv);
  std::fprintf(stderr, "linac: %s: cannot be started (%s); it belongs beside this program\n", program.c_str(),
               std::strerror(errno));
  return static_cast<int>(linac::ErrorCode::kEnvironment);
}
