#include "linac/cli/common/compute_verbs.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "linac/cli/common/verbs.h"

namespace linac::cli {
namespace {

#define LINAC_ROW(name, summary) {#name, summary},
constexpr ComputeVerb kVerbs[] = {LINAC_VERBS(LINAC_ROW, LINAC_NO_VERB)};
#undef LINAC_ROW

const ComputeVerb* find(std::string_view name) {
  const auto* found = std::ranges::find(kVerbs, name, &ComputeVerb::name);
  return found == std::end(kVerbs) ? nullptr : found;
}

}  // namespace

std::span<const ComputeVerb> compute_verbs() {
  return kVerbs;
}

bool is_compute_verb(std::string_view word) {
  return find(word) != nullptr;
}

CLI::App* add_compute_verb(CLI::App& app, std::string_view name) {
  const ComputeVerb* verb = find(name);
  if (verb == nullptr) throw std::logic_error("no verb of linac-compute: " + std::string(name));
  return app.add_subcommand(verb->name, verb->summary);
}

}  // namespace linac::cli
