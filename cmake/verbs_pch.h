#pragma once
// Precompiled for the modules of verbs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
