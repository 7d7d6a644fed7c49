#pragma once
// Precompiled for the verbs.
#include "common_pch.h"

#include <CLI/CLI.hpp>
