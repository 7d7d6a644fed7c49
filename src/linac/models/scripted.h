#pragma once
// A TorchScript file as a model that learns from labelled events (models/supervised.h). Immutable, thread-safe.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linac/graph/graph.h"
#include "linac/graph/parameters.h"

namespace linac::nn {
class ScriptModule;
}

namespace linac::models {

class ScriptedModel {
 public:
  /// `inputs`: forward()'s arguments by name, with the shape of an event. Errors as nn::ScriptModule.
  ScriptedModel(const std::filesystem::path& path, const std::vector<std::pair<std::string, graph::Shape>>& inputs);

  /// Its inputs and outputs, for describing (nn/script_module.h).
  const graph::Graph& graph() const;
  const graph::Parameters& parameters() const;
  /// The module with these weights. Environment error if it cannot be written.
  void save(const graph::Parameters& parameters, const std::filesystem::path& path) const;

  const std::shared_ptr<const nn::ScriptModule>& module() const { return module_; }

 private:
  std::shared_ptr<const nn::ScriptModule> module_;
};

}  // namespace linac::models
