#include "linac/io/storage/user_settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kIniBytesMax = 1 << 20;
constexpr off_t kTokenBytesMax = 64 << 10;

std::string trimmed(std::string text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.back())) text.pop_back();
  while (!text.empty() && space(text.front())) text.erase(0, 1);
  return text;
}

/// A small file of this user, not a link to another's; empty otherwise.
std::string own_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  if (status.st_uid != ::geteuid() || status.st_size > kTokenBytesMax) return "";
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

/// What stands in a header's line.
std::string one_word(const std::string& text) {
  const std::string word = trimmed(text.substr(0, text.find_first_of("\r\n")));
  const bool clean = std::all_of(word.begin(), word.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  return clean ? word : "";
}

}  // namespace

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string token_in(const fs::path& file) {
  return one_word(own_file(file));
}

std::string bearer_token() {
  const std::string usual = fmt::format("bt_u{}", ::geteuid());
  const std::string said = from_environment("BEARER_TOKEN"), file = from_environment("BEARER_TOKEN_FILE"),
                    folder = from_environment("XDG_RUNTIME_DIR");
  if (!said.empty()) return one_word(said);
  if (!file.empty()) return token_in(file);
  const std::string token = folder.empty() ? "" : token_in(fs::path(folder) / usual);
  return token.empty() ? token_in(fs::path("/tmp") / usual) : token;
}

bool is_yes(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text == "1" || text == "true" || text == "yes";
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts)
    if (!text.empty()) return text;
  return "";
}

std::string value_in(const IniSection& section, const std::string& name) {
  const auto found = section.find(name);
  return found == section.end() ? "" : found->second;
}

std::optional<IniSection> read_ini_section(const fs::path& file, const std::string& title) {
  std::error_code none;
  if (!fs::is_regular_file(file, none) || fs::file_size(file, none) > kIniBytesMax) return std::nullopt;
  std::istringstream lines(read_file(file));
  std::optional<IniSection> section;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    // Lines that begin with a space belong to a setting of several lines, none of which is read here.
    if (line.empty() || line[0] == '#' || line[0] == ';' || std::isspace(static_cast<unsigned char>(line[0])) != 0)
      continue;
    if (line[0] == '[') {
      inside = trimmed(line.substr(1, line.find(']') - 1)) == title;
      if (inside && !section) section.emplace();
      continue;
    }
    const size_t sign = line.find('=');
    if (!inside || sign == std::string::npos) continue;
    std::string name = trimmed(line.substr(0, sign));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    (*section)[name] = trimmed(line.substr(sign + 1));
  }
  return section;
}

}  // namespace linac::storage
