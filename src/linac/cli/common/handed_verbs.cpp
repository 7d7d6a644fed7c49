#include "linac/cli/common/handed_verbs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "linac/base/base/error.h"
#include "linac/base/base/signals.h"
#include "linac/cli/common/verbs.h"

namespace linac::cli {
namespace {

#define LINAC_COMPUTE(name, summary) {#name, summary, kComputeProgram},
#define LINAC_DATA(name, summary) {#name, summary, kDataProgram},
constexpr HandedVerb kVerbs[] = {LINAC_VERBS(LINAC_COMPUTE, LINAC_DATA, LINAC_NO_VERB)};
#undef LINAC_COMPUTE
#undef LINAC_DATA

}  // namespace

std::span<const HandedVerb> handed_verbs() {
  return kVerbs;
}

const HandedVerb* handed_verb(std::string_view word) {
  const auto* found = std::ranges::find(kVerbs, word, &HandedVerb::name);
  return found == std::end(kVerbs) ? nullptr : found;
}

CLI::App* add_handed_verb(CLI::App& app, std::string_view name) {
  const HandedVerb* verb = handed_verb(name);
  if (verb == nullptr) throw std::logic_error("no verb that is handed on: " + std::string(name));
  return app.add_subcommand(verb->name, verb->summary);
}

int become(const char* program, char** argv) {
  const HeldStopSignals until_it_heeds_them;
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
  execv(path.c_str(), argv);
  std::fprintf(stderr, "linac: %s: cannot be started (%s); it belongs beside this program\n", path.c_str(),
               std::strerror(errno));
  return static_cast<int>(ErrorCode::kEnvironment);
}

}  // namespace linac::cli
