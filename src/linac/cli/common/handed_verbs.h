#pragma once
// Names and summaries of the verbs that `linac` hands on to a program beside it, of the table in verbs.h. It shows them
// in its help without starting that one: loading LibTorch takes a quarter of a second.

#include <CLI/CLI.hpp>
#include <span>
#include <string_view>

namespace linac::cli {

inline constexpr const char* kComputeProgram = "linac-compute";
inline constexpr const char* kDataProgram = "linac-data";

struct HandedVerb {
  const char* name;
  const char* summary;
  const char* program;  // kComputeProgram can do those of kDataProgram too
};

/// All of them, in the order of the help.
std::span<const HandedVerb> handed_verbs();

/// That of this name; nullptr if `word` is none.
const HandedVerb* handed_verb(std::string_view word);

/// Adds the verb of that name with its summary, still without options. Throws std::logic_error if the table has none.
CLI::App* add_handed_verb(CLI::App& app, std::string_view name);

/// Becomes `program`, which lies beside this one, with the same words; until it heeds them, signals to stop are held.
/// Returns only where it cannot be started, having said so: the exit status.
int become(const char* program, char** argv);

}  // namespace linac::cli
