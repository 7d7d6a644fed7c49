#pragma once
// `--db ADDRESS` and `--db-file FILE` of the verbs that open a catalog. The address may have a password, and others of
// the host see the words of a line.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace linac::cli {

/// Both, into `database`, which outlives the parser.
void add_database_options(CLI::App& verb, std::string& database);

/// A copy of the line, in whose place others see the line without what `--db` says. Before there are threads.
std::vector<std::string> line_of_its_own(int argc, char** argv);

}  // namespace linac::cli
