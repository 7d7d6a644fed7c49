#pragma once
// A program of torch.export (.pt2) as a network of linac: docs/internals/decisions/exported-programs.md. A training run holds a
// lock of the process while the program draws random numbers (torch_random.h); one that draws none needs no turn.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/model/nn/foreign_module.h"

namespace linac::nn {

class ExportedModule : public ForeignModule {
 public:
  /// User error naming the file and what is wrong if it is no .pt2 of the version that is read, holds something that
  /// linac does not run (model/pt2/program.h, call.h), takes other arguments than `inputs` by name (in any order) or of
  /// other shapes, was exported for one number of events alone, or fails on two events of zeros.
  ExportedModule(const std::filesystem::path& path, const std::vector<ForeignInput>& inputs);
  ~ExportedModule() override;

  /// Whether the file is a .pt2, by its name or by what it holds.
  static bool reads(const std::filesystem::path& path);

  Weights weights(const graph::Parameters& parameters, Gradients gradients) const override;
  std::vector<at::Tensor> run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                              const RunOptions& options) const override;
  /// As PATH.pt2, which torch.export.load reads: the same program. The notes as an extra file, "linac.json".
  std::optional<std::filesystem::path> save(const graph::Parameters& parameters, const std::filesystem::path& path,
                                            const std::string& notes) const override;
  /// Says so if the program was exported for evaluation: what it would drop in training, and whose statistics it would
  /// take from the batch, is switched off for good.
  std::string remark() const override;
  /// What save() took along in this file; empty if there is nothing. User error as the constructor's.
  static std::string notes_in(const std::filesystem::path& path);

 private:
  struct Parts;

  std::unique_ptr<const Parts> parts_;
};

}  // namespace linac::nn
