#pragma once
// Names and summaries of the verbs that `linac-compute` carries out, of the table in verbs.h. `linac` shows them in its
// help without starting it: loading LibTorch takes a quarter of a second.

#include <CLI/CLI.hpp>
#include <span>
#include <string_view>

namespace linac::cli {

struct ComputeVerb {
  const char* name;
  const char* summary;
};

/// All of them, in the order of the help.
std::span<const ComputeVerb> compute_verbs();

/// Whether `word` is one of their names.
bool is_compute_verb(std::string_view word);

/// Adds the verb of that name with its summary, still without options. Throws std::logic_error if the table has none.
CLI::App* add_compute_verb(CLI::App& app, std::string_view name);

}  // namespace linac::cli
