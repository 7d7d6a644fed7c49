#pragma once
// Precompiled for the tests of modules that see LibTorch.
#include "torch_pch.h"

#include <gtest/gtest.h>
