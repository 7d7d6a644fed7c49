#pragma once
// Precompiled for the tests of modules.
#include "common_pch.h"

#include <gtest/gtest.h>
