#include "linac/model/models/foreign_model.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/model/nn/exported/exported_module.h"
#include "linac/model/nn/plugin_module.h"
#include "linac/model/nn/script_module.h"

namespace linac::models {
namespace {

// Opening a pipe would wait for a writer.
void need_regular_file(const std::filesystem::path& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw user_error(fmt::format("[model] {}: is no regular file; give the file of a model", path.string()));
}

}  // namespace

bool ForeignModel::is_torchscript(const std::filesystem::path& path) {
  return path.extension() == ".pt" || path.extension() == ".pt2";
}

ForeignModel ForeignModel::torchscript(const std::filesystem::path& path,
                                       const std::vector<std::pair<std::string, graph::Shape>>& inputs) {
  std::vector<nn::ForeignInput> arguments;
  for (const auto& [name, shape] : inputs) arguments.push_back({name, shape});
  need_regular_file(path);
  if (nn::ExportedModule::reads(path)) return ForeignModel(std::make_shared<const nn::ExportedModule>(path, arguments));
  return ForeignModel(std::make_shared<const nn::ScriptModule>(path, arguments));
}

std::string ForeignModel::notes_in_torchscript(const std::filesystem::path& path) {
  need_regular_file(path);
  return nn::ExportedModule::reads(path) ? nn::ExportedModule::notes_in(path) : nn::ScriptModule::notes_in(path);
}

ForeignModel ForeignModel::plugin(std::shared_ptr<const plugin::Library> library, uint64_t seed) {
  return ForeignModel(std::make_shared<const nn::PluginModule>(std::move(library), seed));
}

const graph::Graph& ForeignModel::graph() const {
  return module_->graph();
}

const graph::Parameters& ForeignModel::parameters() const {
  return module_->parameters();
}

std::optional<std::filesystem::path> ForeignModel::save(const graph::Parameters& parameters,
                                                        const std::filesystem::path& path,
                                                        const std::string& notes) const {
  return module_->save(parameters, path, notes);
}

std::optional<pt2::WeightedProgram> ForeignModel::program() const {
  return module_->program();
}

std::string ForeignModel::remark() const {
  return module_->remark();
}

std::shared_ptr<const plugin::Library> open_plugin(const std::filesystem::path& path,
                                                   const std::map<std::string, std::string>& options) {
  return std::make_shared<const plugin::Library>(path, options);
}

bool offers_loop(const plugin::Library& library) {
  return library.is_loop();
}

}  // namespace linac::models
