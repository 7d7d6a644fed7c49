#pragma once
// A command line from its words to the exit status.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string_view>

namespace linac::cli {

/// The parser of the program `linac`, without verbs.
std::unique_ptr<CLI::App> parser();

/// Parses, runs the verb, reports errors on standard error and returns the exit status (base/base/error.h has the
/// table). `failed` also hears of an error of the verb.
int run(CLI::App& app, int argc, char** argv,
        const std::function<void(std::string_view what, int exit_status)>& failed = {});

}  // namespace linac::cli
