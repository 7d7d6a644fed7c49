#include "linac/base/base/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/yaml_guard.h"

namespace linac::config {
namespace {

constexpr size_t kShownMax = 500;  // of a wrong value

std::string place(const std::string& where, const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  if (where.starts_with("--set ")) return where;  // has one line
  return mark.is_null() ? where : fmt::format("{}:{}", where, mark.line + 1);
}

/// The line up to `last`, from 0 on, whose indentation has a tab; the one before it counts, too. -1: none.
int indented_by_tab(const std::string& text, int last) {
  int line = 0;
  for (size_t begin = 0; begin < text.size() && line <= last + 1; ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t word = std::min(text.find_first_not_of(" \t", begin), end);
    const size_t tab = text.find('\t', begin);
    if (line >= last - 1 && tab < word && word < end && text[word] != '#') return line;
    begin = end + 1;
  }
  return -1;
}

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return fmt::format("{}", value);
}

UnknownKey::UnknownKey(std::string the_place, std::string the_key, std::vector<std::string> all, std::string the_hint)
    : Error(ErrorCode::kUser, fmt::format("[yaml] {}: unknown key '{}'{} (known here: {})", the_place, the_key,
                                          the_hint, fmt::join(all, ", "))),
      place(std::move(the_place)),
      key(std::move(the_key)),
      known(std::move(all)),
      hint(std::move(the_hint)) {}

void unknown_key(const std::string& where, const YAML::Node& key, const std::string& prefix,
                 const std::vector<std::string>& known) {
  const auto name = key.as<std::string>("?");
  const auto near = nearest(name, known);
  throw UnknownKey(place(where, key), prefix + name, known,
                   near ? fmt::format("; did you mean '{}{}'?", prefix, *near) : "");
}

void wrong_value(const std::string& where, const YAML::Node& value, const std::string& key, const std::string& wanted) {
  YAML::Emitter emitter;
  emitter << YAML::Flow << value;
  std::string text = emitter.c_str();
  if (text.size() > kShownMax) text = text.substr(0, kShownMax) + "...";
  const bool empty = value.IsNull();
  throw user_error(empty ? fmt::format("[yaml] {}: {} has no value; wanted is {}", place(where, value), key, wanted)
                         : fmt::format("[yaml] {}: {} = {} is not {}", place(where, value), key, text, wanted));
}

void no_map(const std::string& where, const YAML::Node& value, const std::string& prefix,
            const std::vector<std::string>& known) {
  constexpr size_t kShown = 2;
  std::string keys;
  for (size_t i = 0; i < std::min(kShown, known.size()); ++i)
    keys += fmt::format("{}{}: ...", i > 0 ? ", " : "", known[i]);
  wrong_value(where, value, prefix.empty() ? "the file" : prefix.substr(0, prefix.size() - 1),
              fmt::format("a map of settings, {{{}{}}}", keys, known.size() > kShown ? ", ..." : ""));
}

YAML::Node parse_text(const std::string& text, const std::string& where) {
  try {
    need_bounded_yaml(text, where);
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    if (const int line = indented_by_tab(text, error.mark.line); line >= 0)
      throw user_error(fmt::format("[yaml] {}:{}: a tab indents this line, where YAML takes spaces alone; write spaces",
                                   where, line + 1));
    throw user_error(fmt::format("[yaml] {}:{}: not YAML ({})", where, error.mark.line + 1, error.msg));
  }
}

void apply_override(YAML::Node& root, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw user_error(fmt::format("[job] --set {}: expected key=value, e.g. --set train.optimizer.lr=1e-3", assignment));
  }
  const std::string key = assignment.substr(0, equals);
  if (static_cast<size_t>(std::count(key.begin(), key.end(), '.')) >= kYamlDepthMax)
    throw user_error(fmt::format("[job] --set {}: it is deeper than {}", key.substr(0, kShownMax), kYamlDepthMax));
  const YAML::Node value = parse_text(assignment.substr(equals + 1), "--set " + key);
  // reset() rebinds the handle; plain assignment would overwrite the tree that it points into.
  YAML::Node node = root;
  size_t start = 0;
  for (size_t dot = key.find('.'); dot != std::string::npos; start = dot + 1, dot = key.find('.', start)) {
    const std::string part = key.substr(start, dot - start);
    if (!node[part].IsDefined() || node[part].IsNull()) node[part] = YAML::Node(YAML::NodeType::Map);
    if (!node[part].IsMap())
      throw user_error(fmt::format("[job] --set {}: '{}' holds no settings", assignment, key.substr(0, dot)));
    node.reset(node[part]);
  }
  node[key.substr(start)] = value;
}

}  // namespace linac::config
