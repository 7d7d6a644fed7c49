#pragma once
// Precompiled for the modules that see LibTorch: its headers take longer to read than linac's code to compile.
#include "common_pch.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>
