#pragma once
// Somebody else's code as a model that learns from labelled events (model/models/supervised.h): a TorchScript file, a
// program of torch.export (.pt2), or a class of a plug-in. Immutable, thread-safe.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/pt2/program.h"

namespace linac::nn {
class ForeignModule;
}
namespace linac::plugin {
class Library;
}

namespace linac::models {

class ForeignModel {
 public:
  /// TorchScript or a .pt2. `inputs`: forward()'s arguments by name, with the shape of an event. Errors as
  /// nn::ScriptModule and nn::ExportedModule.
  static ForeignModel torchscript(const std::filesystem::path& path,
                                  const std::vector<std::pair<std::string, graph::Shape>>& inputs);
  /// Whether a file of this name is one that torchscript() reads.
  static bool is_torchscript(const std::filesystem::path& path);
  /// What save() took along in such a file; empty if there is nothing.
  static std::string notes_in_torchscript(const std::filesystem::path& path);
  /// Errors as nn::PluginModule.
  static ForeignModel plugin(std::shared_ptr<const plugin::Library> library, uint64_t seed);

  /// Its inputs and outputs, for describing (model/nn/foreign_module.h).
  const graph::Graph& graph() const;
  const graph::Parameters& parameters() const;
  /// Writes the model with these weights and `notes`, if its kind has a file of its own; that file. `path` without the
  /// ending. Environment error if it cannot be written.
  std::optional<std::filesystem::path> save(const graph::Parameters& parameters, const std::filesystem::path& path,
                                            const std::string& notes) const;
  /// The operators of a TorchScript file, with its weights, for ONNX; nothing of other kinds. Errors as
  /// nn::ScriptModule::program.
  std::optional<pt2::WeightedProgram> program() const;
  /// What whoever trains it should know, or nothing.
  std::string remark() const;

  const std::shared_ptr<const nn::ForeignModule>& module() const { return module_; }

 private:
  explicit ForeignModel(std::shared_ptr<const nn::ForeignModule> module) : module_(std::move(module)) {}

  std::shared_ptr<const nn::ForeignModule> module_;
};

/// The shared object of a job's model.file, opened (model/plugin/library.h).
std::shared_ptr<const plugin::Library> open_plugin(const std::filesystem::path& path,
                                                   const std::map<std::string, std::string>& options);
/// Whether it offers a training of its own (model/models/custom_training.h), not a model.
bool offers_loop(const plugin::Library& library);

}  // namespace linac::models
