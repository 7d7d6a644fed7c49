#pragma once
// A TorchScript file as a network of linac. A training run holds a lock of the process while forward() draws random
// numbers (torch_random.h).

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/model/nn/foreign_module.h"

namespace linac::nn {

class ScriptModule : public ForeignModule {
 public:
  /// User error naming the file if it is no TorchScript, if forward() takes other arguments than `inputs` by name (in
  /// any order), returns something else than tensors of floats, or fails on two events of zeros.
  ScriptModule(const std::filesystem::path& path, const std::vector<ForeignInput>& inputs);
  ~ScriptModule() override;

  Weights weights(const graph::Parameters& parameters, Gradients gradients) const override;
  std::vector<at::Tensor> run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                              const RunOptions& options) const override;
  /// As PATH.pt; the notes as an extra file, "linac.json".
  std::optional<std::filesystem::path> save(const graph::Parameters& parameters, const std::filesystem::path& path,
                                            const std::string& notes) const override;
  /// Errors as script::program_of (script/script_program.h).
  std::optional<pt2::WeightedProgram> program() const override;
  /// What save() took along in this file; empty if there is nothing. User error as the constructor's.
  static std::string notes_in(const std::filesystem::path& path);

 private:
  struct Parts;
  std::vector<at::Tensor> call(const Weights& weights, const std::vector<at::Tensor>& inputs, Mode mode,
                               std::vector<float>* statistics) const;

  std::unique_ptr<const Parts> parts_;
};

}  // namespace linac::nn
