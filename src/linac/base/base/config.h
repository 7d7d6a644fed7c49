#pragma once
// Typed structs <-> YAML. A settings struct names its fields once, in a member function template
//     template <class Visitor> void fields(Visitor& v) { v("epochs", epochs, "passes over the training data"); }
// and reading, writing, overriding (`--set a.b=c`) and documentation follow. Not thread-safe per object; no global
// state.

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "linac/base/base/auto_int.h"
#include "linac/base/base/error.h"

namespace linac::config {

/// One documented setting, for `--help` and the documentation.
struct Setting {
  std::string key;    // "train.optimizer.lr"; "train.schedule.drops[].epoch" within a list
  std::string type;   // "number"
  std::string value;  // the default
  std::string help;
};

/// The user error of a key that the struct does not have; who knows the whole struct may throw it on with another hint.
class UnknownKey : public Error {
 public:
  UnknownKey(std::string place, std::string key, std::vector<std::string> known, std::string hint);
  const std::string place, key;  // "demo.yaml:7", "train.epoch"
  const std::vector<std::string> known;
  const std::string hint;  // "; did you mean 'train.epochs'?", or empty
};

/// Throws UnknownKey: "[yaml] demo.yaml:7: unknown key 'train.epoch'; did you mean 'train.epochs'? (known here: ...)".
[[noreturn]] void unknown_key(const std::string& where, const YAML::Node& key, const std::string& prefix,
                              const std::vector<std::string>& known);
[[noreturn]] void wrong_value(const std::string& where, const YAML::Node& value, const std::string& key,
                              const std::string& wanted);

/// "demo.yaml:7: train.optimizer = adam is not a map of settings ({name: ..., lr: ..., ...})"; `prefix` ends in a dot.
[[noreturn]] void no_map(const std::string& where, const YAML::Node& value, const std::string& prefix,
                         const std::vector<std::string>& known);

/// A user error with place, line and the reason if `text` is not YAML, or is more than yaml_guard.h lets through.
YAML::Node parse_text(const std::string& text, const std::string& where);

/// The shortest text that YAML reads back as the same number.
std::string number_text(double value);

/// Applies "a.b=value" (the value is YAML) to the tree, making the maps on the way; user error if there is no '='.
void apply_override(YAML::Node& root, const std::string& assignment);

/// Accepts any field: only there to ask whether a type has `fields`.
struct AnyVisitor {
  template <class T>
  void operator()(const char*, T&, const char*) {}
};
template <class T>
concept HasFields = requires(T value, AnyVisitor visitor) {
  value.fields(visitor);
};

namespace detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
const char* wanted_form() {
  if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_integral_v<T>)
    return "an integer";
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else if constexpr (IsVector<T>::value)
    return "a list";
  else if constexpr (IsMap<T>::value)
    return "a map of settings";
  else if constexpr (std::is_same_v<T, AutoInt>)
    return "an integer, or auto";
  else
    return "a text";
}

/// The same as a word of the reference.
template <class T>
std::string type_name() {
  if constexpr (IsVector<T>::value)
    return HasFields<typename T::value_type> ? "list of maps" : "list of " + type_name<typename T::value_type>() + "s";
  else if constexpr (IsMap<T>::value)
    return "map";
  else if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_integral_v<T>)
    return "integer";
  else if constexpr (std::is_floating_point_v<T>)
    return "number";
  else if constexpr (std::is_same_v<T, AutoInt>)
    return "integer, auto";
  else
    return "text";
}

}  // namespace detail

/// Fills the fields that the node has; keeps the defaults of the others; refuses keys the struct does not have.
template <class Struct>
void read(const YAML::Node& node, Struct& out, const std::string& where, const std::string& prefix = "");

namespace detail {

template <class T>
void read_value(const YAML::Node& node, T& out, const std::string& where, const std::string& key) {
  if constexpr (HasFields<T>) {
    read(node, out, where, key + ".");
  } else if constexpr (IsVector<T>::value) {
    out.clear();
    // One value stands for a list of one.
    if (!node.IsSequence()) {
      out.emplace_back();
      read_value(node, out.back(), where, key);
      return;
    }
    for (size_t i = 0; i < node.size(); ++i) {
      out.emplace_back();
      read_value(node[i], out.back(), where, key + "[" + std::to_string(i) + "]");
    }
  } else if constexpr (IsMap<T>::value) {
    if (!node.IsMap()) wrong_value(where, node, key, wanted_form<T>());
    out.clear();
    for (const auto& entry : node) {
      const auto name = entry.first.as<std::string>("?");
      read_value(entry.second, out[name], where, key + "." + name);
    }
  } else {
    if (!node.IsScalar()) wrong_value(where, node, key, wanted_form<T>());
    try {
      out = node.as<T>();
    } catch (const YAML::Exception&) {
      wrong_value(where, node, key, wanted_form<T>());
    }
  }
}

struct Reader {
  const YAML::Node& node;
  const std::string& where;
  const std::string& prefix;
  std::vector<std::string> known;

  template <class T>
  void operator()(const char* name, T& value, const char*) {
    known.emplace_back(name);
    const YAML::Node child = node[name];
    if constexpr (std::is_arithmetic_v<T>)
      if (child.IsDefined() && child.IsNull()) wrong_value(where, child, prefix + name, wanted_form<T>());
    if (child.IsDefined() && !child.IsNull()) read_value(child, value, where, prefix + name);
  }
};

struct Writer {
  YAML::Node node;

  template <class T>
  static YAML::Node write_value(T& value) {
    if constexpr (HasFields<T>) {
      Writer writer;
      value.fields(writer);
      return writer.node;
    } else if constexpr (IsVector<T>::value) {
      YAML::Node list(YAML::NodeType::Sequence);
      for (auto& item : value) list.push_back(write_value(item));
      if constexpr (!HasFields<typename T::value_type>) list.SetStyle(YAML::EmitterStyle::Flow);
      return list;
    } else if constexpr (IsMap<T>::value) {
      YAML::Node map(YAML::NodeType::Map);
      for (auto& [name, item] : value) map[name] = write_value(item);
      map.SetStyle(YAML::EmitterStyle::Flow);
      return map;
    } else if constexpr (std::is_floating_point_v<T>) {
      return YAML::Node(number_text(value));
    } else {
      return YAML::Node(value);
    }
  }

  template <class T>
  void operator()(const char* name, T& value, const char*) {
    node[name] = write_value(value);
  }
};

struct Describer {
  std::vector<Setting>& settings;
  std::string prefix;

  template <class T>
  void operator()(const char* name, T& value, const char* help) {
    if constexpr (HasFields<T>) {
      Describer inner{settings, prefix + name + "."};
      value.fields(inner);
    } else {
      YAML::Emitter emitter;
      emitter << YAML::Flow << Writer::write_value(value);
      settings.push_back({prefix + name, type_name<T>(), emitter.c_str(), help});
      if constexpr (IsVector<T>::value) {
        if constexpr (HasFields<typename T::value_type>) {
          typename T::value_type one;
          Describer inner{settings, prefix + name + "[]."};
          one.fields(inner);
        }
      }
    }
  }
};

}  // namespace detail

template <class Struct>
void read(const YAML::Node& node, Struct& out, const std::string& where, const std::string& prefix) {
  const YAML::Node nothing(YAML::NodeType::Map);
  detail::Reader reader{node.IsMap() ? node : nothing, where, prefix, {}};
  out.fields(reader);
  if (!node.IsMap()) no_map(where, node, prefix, reader.known);
  for (const auto& entry : node) {
    const auto name = entry.first.as<std::string>("");
    bool found = false;
    for (const std::string& known : reader.known) found = found || known == name;
    if (!found) unknown_key(where, entry.first, prefix, reader.known);
  }
}

template <class Struct>
std::string to_yaml(Struct value) {
  detail::Writer writer;
  value.fields(writer);
  YAML::Emitter emitter;
  emitter << writer.node;
  return std::string(emitter.c_str()) + "\n";
}

template <class Struct>
std::vector<Setting> describe(Struct defaults) {
  std::vector<Setting> settings;
  detail::Describer describer{settings, ""};
  defaults.fields(describer);
  return settings;
}

}  // namespace linac::config
