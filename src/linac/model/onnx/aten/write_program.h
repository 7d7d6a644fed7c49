#pragma once
// A program of PyTorch as ONNX: what it computes in evaluation, with a free axis of events. Inputs have the names,
// shapes and types of forward()'s arguments; outputs are called "output", or "output_0", ... as linac predict calls
// them. Thread-safe functions.

#include <filesystem>
#include <vector>

#include "linac/model/graph/output_units.h"
#include "linac/model/onnx/write_onnx.h"
#include "linac/model/pt2/program_file.h"

namespace linac::onnx {

/// `units`: of the outputs, which are brought to those of the files; of what is not named they stay. User error naming
/// the operator that is not written, and its line of Python where it is known.
Model to_onnx(const pt2::ProgramFile& file, Metadata metadata, const std::vector<graph::OutputUnits>& units = {});
Model to_onnx(const pt2::WeightedProgram& program, Metadata metadata,
              const std::vector<graph::OutputUnits>& units = {});

/// The same as a file, as the other write_onnx().
void write_onnx(const pt2::ProgramFile& file, const std::filesystem::path& path, const Metadata& metadata,
                const std::vector<graph::OutputUnits>& units = {});
void write_onnx(const pt2::WeightedProgram& program, const std::filesystem::path& path, const Metadata& metadata,
                const std::vector<graph::OutputUnits>& units = {});

}  // namespace linac::onnx
