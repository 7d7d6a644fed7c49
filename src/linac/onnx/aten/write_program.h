#pragma once
// A program of torch.export as ONNX: what it computes in evaluation, with a free axis of events. Inputs have the names,
// shapes and types of forward()'s arguments; outputs are called "output", or "output_0", ... as linac predict calls
// them. Thread-safe functions.

#include <filesystem>

#include "linac/onnx/write_onnx.h"
#include "linac/pt2/program_file.h"

namespace linac::onnx {

/// User error naming the operator that is not written.
Model to_onnx(const pt2::ProgramFile& file, Metadata metadata);

/// The same as a file, as the other write_onnx().
void write_onnx(const pt2::ProgramFile& file, const std::filesystem::path& path, const Metadata& metadata);

}  // namespace linac::onnx
