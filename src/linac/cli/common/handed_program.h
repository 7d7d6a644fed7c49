#pragma once
// main() of a program that `linac` becomes.

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

namespace linac::cli {

/// Carries out the line by the verbs that `add` adds, and ends the process with the exit status (base/base/error.h has
/// the table). `failed` also hears of an error of the verb.
[[noreturn]] void run_handed_program(int argc, char** argv, void (*add)(CLI::App&),
                                     const std::function<void(std::string_view what, int exit_status)>& failed = {});

}  // namespace linac::cli
