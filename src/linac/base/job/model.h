#pragma once
// The model of a job: one of the kinds in the table below, with the settings of that kind and of no other. A plain
// value. A new kind is a struct in model_kinds.h and a name in the table.

#include <yaml-cpp/yaml.h>

#include <concepts>
#include <string>
#include <variant>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/job/model_kinds.h"

namespace linac::job {

/// The table of kinds; the first is that of a job that names none.
using AnyModel = std::variant<ThreeDGanSettings, InclusiveClassifierSettings, KerasSettings, TorchScriptSettings,
                              CustomSettings, CellChainSettings>;

/// Calls visit(settings as they are by default) for each kind, in the order of the table.
template <class Visit>
void each_model_kind(const Visit& visit) {
  const auto all = [&]<size_t... i>(std::index_sequence<i...>) {
    (visit(std::variant_alternative_t<i, AnyModel>{}), ...);
  };
  all(std::make_index_sequence<std::variant_size_v<AnyModel>>{});
}
std::vector<std::string> model_kinds();

struct Model {
  AnyModel own;

  std::string kind() const {
    return std::visit([](const auto& settings) { return std::string(settings.kKind); }, own);
  }
  template <class Kind>
  bool is() const {
    return std::holds_alternative<Kind>(own);
  }
  /// The settings of a kind that it is.
  template <class Kind>
  Kind& as() {
    LINAC_CHECK(is<Kind>());
    return *std::get_if<Kind>(&own);
  }
  template <class Kind>
  const Kind& as() const {
    return const_cast<Model*>(this)->as<Kind>();
  }
  /// Of kinds that train the model of a file; nullptr for the others.
  ModelFile* file() { return base<ModelFile>(); }
  const ModelFile* file() const { return const_cast<Model*>(this)->file(); }
  /// Of kinds that may go on from what linac has trained; nullptr for the others.
  TrainedStart* start() { return base<TrainedStart>(); }
  /// The settings that name files.
  std::vector<std::string*> files() {
    return std::visit([](auto& settings) { return settings.files(); }, own);
  }
  bool optimizer_in_file() const {
    return std::visit([](const auto& settings) { return settings.kOptimizerInFile; }, own);
  }
  void check(const Job& job, const std::string& where) const {
    std::visit([&](const auto& settings) { settings.check(job, where); }, own);
  }

  template <class V>
  void fields(V& v) {
    std::string name = kind();
    v("kind", name,
      "which model: 3dgan, inclusive_classifier, keras: any Keras model of a file, torchscript: any module of "
      "PyTorch, as TorchScript or by torch.export (.pt2), custom: your own C++ in a shared object "
      "(docs/guide/custom-models.md), or cell_chain: showers cell by cell (docs/guide/physics/cell_chain.md)");
    become(name);
    std::visit([&](auto& settings) { settings.fields(v); }, own);
  }

 private:
  template <class Base>
  Base* base() {
    const auto find = [](auto& settings) -> Base* {
      if constexpr (std::derived_from<std::decay_t<decltype(settings)>, Base>) return &settings;
      return nullptr;
    };
    return std::visit(find, own);
  }
  // With the defaults of another kind; names that are not known have been refused.
  void become(const std::string& name) {
    if (name == kind()) return;
    each_model_kind([&](auto settings) {
      if (name == settings.kKind) own = std::move(settings);
    });
  }
};

/// The settings that are one number each, by their keys ("loss_weights.angle"): what a curve is compared by.
std::map<std::string, double> numbers_of(Model model);

/// Of a model that came out of a catalog, the file: it is somewhere in a cache, and another path is no difference.
void forget_cached_file(Model& model);

/// Before the node is read: user error for a kind that is not in the table, and for a setting of another kind. One that
/// holds that kind's default is taken out: the job of an older run lists the settings of all kinds.
void settle_model_keys(YAML::Node model, const std::string& where);

}  // namespace linac::job
