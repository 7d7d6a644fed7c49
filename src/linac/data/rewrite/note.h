#pragma once
// What a conversion notes beside the files that it writes: the settings, and of each file what it is made of and
// whether it is done. A value; not thread-safe.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace linac::data {

struct NotedFile {
  std::string key;                 // hash of the settings and of the inputs that it is made of
  int64_t events = -1, bytes = 0;  // events < 0: not done
};

struct RewriteNote {
  nlohmann::json settings;
  std::map<std::string, NotedFile> files;  // by the name in the folder
};

/// Nothing where there is none. User error for one that cannot be read.
std::optional<RewriteNote> read_note(const std::string& name, const std::string& where);
/// All or nothing. Environment error when that fails.
void write_note(const std::string& name, const RewriteNote& note);

/// "filter, columns": settings that differ.
std::string differing(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace linac::data
