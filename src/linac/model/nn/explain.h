#pragma once
// What a graph becomes when it is run, for people: layers before the passes, stages and kernels after them. Pure.

#include <string>

#include "linac/model/nn/executable.h"

namespace linac::nn {

/// A table: a line a layer of `before`, then a line a node or stage of `after`, with output shapes, GFLOP and MB of
/// output an event (fp32), and the kernel.
std::string explain(const graph::Graph& before, const Executable& after);

}  // namespace linac::nn
