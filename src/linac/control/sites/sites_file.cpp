#include "linac/control/sites/sites_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/user_files.h"
#include "linac/control/sites/label.h"

namespace linac::sites {
namespace {

std::vector<std::string> kind_words() {
  std::vector<std::string> words;
  for (const Kind& kind : kinds()) words.emplace_back(kind.word);
  return words;
}

const Kind& kind_named(const std::string& word, const std::string& place) {
  for (const Kind& kind : kinds())
    if (word == kind.word) return kind;
  const std::vector<std::string> words = kind_words();
  const auto near = nearest(word, words);
  throw user_error(fmt::format("{}: kind = {} is not one of {}{}", place, word.empty() ? "''" : word,
                               fmt::join(words, ", "), near ? fmt::format("; did you mean {}?", *near) : ""));
}

// "environment.NAME", too. What is no map where one is due is told when the settings are read.
void change(YAML::Node& settings, const std::string& key, const std::string& value) {
  const size_t dot = key.find('.');
  if (dot == std::string::npos) {
    settings[key] = value;
    return;
  }
  YAML::Node map = settings[key.substr(0, dot)];
  if (!map.IsDefined() || map.IsNull() || map.IsMap()) map[key.substr(dot + 1)] = value;
}

// `changes`: of the settings of the site `changed`.
std::vector<std::unique_ptr<Site>> sites_in(const std::string& text, const std::string& where,
                                            const std::string& changed,
                                            const std::map<std::string, std::string>& changes) {
  std::vector<std::unique_ptr<Site>> sites;
  const YAML::Node root = config::parse_text(text, where);
  if (root.IsNull()) return sites;
  if (!root.IsMap())
    throw user_error(fmt::format("[sites] {}: no map of names to sites; `linac sites init KIND` shows one", where));
  for (const auto& entry : root) {
    const auto name = entry.first.as<std::string>("");
    const std::string place = fmt::format("[sites] {}:{}", where, entry.first.Mark().line + 1);
    if (!is_label(name) || name == "catalog")
      throw user_error(fmt::format("{}: '{}' is no name of a site; use letters, digits and ._-", place, name));
    for (const auto& other : sites)
      if (other->name() == name) throw user_error(fmt::format("{}: there is a site {} before it", place, name));
    if (!entry.second.IsMap() || !entry.second["kind"])
      throw user_error(fmt::format("{}: {} has no kind; write {}: {{kind: {}, ...}}", place, name, name,
                                   fmt::join(kind_words(), " | ")));
    const Kind& kind = kind_named(entry.second["kind"].as<std::string>(""), fmt::format("{}: {}", place, name));
    YAML::Node settings = entry.second;
    if (name == changed)
      for (const auto& [key, value] : changes) change(settings, key, value);
    sites.push_back(kind.make(settings, where, name));
  }
  return sites;
}

std::string text_of_file(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && std::getenv("LINAC_SITES") == nullptr) return "";
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    throw user_error(fmt::format("[sites] {}: is no file", file.string()));
  return read_file(file);
}

}  // namespace

std::filesystem::path sites_file() {
  const char* const named = std::getenv("LINAC_SITES");
  if (named != nullptr && *named != '\0') return named;
  const auto folder = user_folder("XDG_CONFIG_HOME", ".config");
  if (!folder) throw user_error("[sites] neither HOME nor LINAC_SITES is set; set LINAC_SITES=FILE");
  return *folder / "sites.yaml";
}

std::vector<std::unique_ptr<Site>> parse_sites(const std::string& text, const std::string& where) {
  return sites_in(text, where, "", {});
}

std::vector<std::unique_ptr<Site>> read_sites() {
  const auto file = sites_file();
  return parse_sites(text_of_file(file), file.string());
}

std::unique_ptr<Site> find_site(const std::string& name, const std::map<std::string, std::string>& changes) {
  const auto file = sites_file();
  auto sites = sites_in(text_of_file(file), file.string(), name, changes);
  std::vector<std::string> names;
  for (auto& site : sites) {
    if (site->name() == name) return std::move(site);
    names.push_back(site->name());
  }
  const auto near = nearest(name, names);
  const std::string hint = near            ? fmt::format("did you mean {}?", *near)
                           : names.empty() ? "`linac sites init KIND` shows what to put there"
                                           : fmt::format("there are {}", fmt::join(names, ", "));
  throw user_error(fmt::format("[sites] {}: no site '{}'; {}", file.string(), name, hint));
}

std::string sample_site(const std::string& word) {
  const Kind& kind = kind_named(word, "[sites] init");
  std::string text = fmt::format("# {}: {}\nmy-{}:\n", kind.word, kind.meaning, kind.word);
  std::string map_before;
  for (const config::Setting& setting : kind.settings()) {
    static const std::map<std::string, std::string> kExamples{
        {"folder", "/home/me/linac"},
        {"hosts", "[n01, n02]"},
        {"image", "registry.example.org/calo/linac:1.0"},
        {"volume", "pvc:calo"},
        {"prefix", "user.me"},
        {"panda.container", "docker://registry.example.org/linac:1.0"}};
    auto example = kExamples.find(setting.key);
    if (example == kExamples.end()) example = kExamples.find(word + "." + setting.key);
    const bool set = setting.key == "kind" || example != kExamples.end();
    const std::string value = setting.key == "kind"        ? kind.word
                              : example != kExamples.end() ? example->second
                                                           : setting.value;
    const size_t dot = setting.key.find('.');
    const std::string map = dot == std::string::npos ? "" : setting.key.substr(0, dot);
    if (!map.empty() && map != map_before) text += fmt::format("  # {}:\n", map);
    map_before = map;
    text += fmt::format("  {}{}{}: {}   # {}\n", set ? "" : "# ", map.empty() ? "" : "  ",
                        map.empty() ? setting.key : setting.key.substr(dot + 1), value, setting.help);
  }
  if (kind.notes != nullptr) text += kind.notes();
  return text;
}

std::optional<LaunchName> launch_named(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || text.substr(colon).starts_with("://")) return {};
  const std::string before = text.substr(0, colon);
  const auto all = read_sites();
  for (size_t at = 0; at <= before.size();) {
    const size_t end = std::min(before.find('+', at), before.size());
    if (std::ranges::find(all, before.substr(at, end - at), &Site::name) == all.end()) return {};
    at = end + 1;
  }
  return LaunchName{before, text.substr(colon + 1)};
}

}  // namespace linac::sites
