#include "linac/base/job/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "linac/base/base/config.h"
#include "linac/base/job/checks.h"

namespace linac::job {
namespace {

struct KeyList {
  std::vector<std::string> keys;

  template <class T>
  void operator()(const char* name, T&, const char*) {
    keys.emplace_back(name);
  }
};

template <class Kind>
bool has_key(Kind settings, const std::string& key) {
  KeyList list;
  settings.fields(list);
  return std::find(list.keys.begin(), list.keys.end(), key) != list.keys.end();
}

template <class Kind>
bool is_default(const Kind& otherwise, const std::string& key, const YAML::Node& value, const std::string& where) {
  YAML::Node lone(YAML::NodeType::Map);
  lone[key] = value;
  Kind settings;
  config::read(lone, settings, where, "model.");
  return config::to_yaml(settings) == config::to_yaml(otherwise);
}

// "a, b or c"
std::string any_of(const std::vector<std::string>& names) {
  std::string text = names.front();
  for (size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

}  // namespace

std::vector<std::string> model_kinds() {
  std::vector<std::string> names;
  each_model_kind([&](const auto& settings) { names.emplace_back(settings.kKind); });
  return names;
}

std::map<std::string, double> numbers_of(Model model) {
  std::map<std::string, double> numbers;
  for (const config::Setting& setting : config::describe(std::move(model))) {
    double value = 0;
    const char* const end = setting.value.data() + setting.value.size();
    const auto read = std::from_chars(setting.value.data(), end, value);
    if (read.ec == std::errc{} && read.ptr == end) numbers[setting.key] = value;
  }
  return numbers;
}

void forget_cached_file(Model& model) {
  if (ModelFile* const file = model.file(); file != nullptr && !file->from.empty()) file->file.clear();
}

void settle_model_keys(YAML::Node model, const std::string& where) {
  if (!model.IsMap()) return;
  std::string kind = Model{}.kind();
  if (const YAML::Node given = model["kind"]; given.IsDefined() && !given.IsNull()) {
    kind = given.IsScalar() ? given.Scalar() : "";
    need_one_of(kind, model_kinds(), where, "model.kind");
  }
  std::vector<std::string> keys;
  for (const auto& entry : model) keys.push_back(entry.first.as<std::string>(""));
  for (const std::string& key : keys) {
    bool own = key == "kind", as_by_default = false;
    std::vector<std::string> owners;
    each_model_kind([&](const auto& settings) {
      if (!has_key(settings, key)) return;
      own = own || kind == settings.kKind;
      owners.emplace_back(settings.kKind);
      if (!own) as_by_default = as_by_default || is_default(settings, key, model[key], where);
    });
    if (own || owners.empty()) continue;  // a key of no kind is named when the job is read
    need(as_by_default, where, fmt::format("model.{} is for model.kind = {}, not for {}", key, any_of(owners), kind));
    model.remove(key);
  }
}

}  // namespace linac::job
