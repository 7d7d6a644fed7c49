#include "linac/models/scripted.h"

#include "linac/nn/script_module.h"

namespace linac::models {

ScriptedModel::ScriptedModel(const std::filesystem::path& path,
                             const std::vector<std::pair<std::string, graph::Shape>>& inputs) {
  std::vector<nn::ScriptInput> arguments;
  for (const auto& [name, shape] : inputs) arguments.push_back({name, shape});
  module_ = std::make_shared<const nn::ScriptModule>(path, arguments);
}

const graph::Graph& ScriptedModel::graph() const {
  return module_->graph();
}

const graph::Parameters& ScriptedModel::parameters() const {
  return module_->parameters();
}

void ScriptedModel::save(const graph::Parameters& parameters, const std::filesystem::path& path) const {
  module_->save(parameters, path);
}

}  // namespace linac::models
