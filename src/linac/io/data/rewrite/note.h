#pragma once
// What a conversion notes beside the files that it writes: the settings, and of each file what it is made of and
// whether it is done. A value; not thread-safe.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace linac::data {

/// Extents of the rows in columns of lists of rows, by column.
using RowSizes = std::map<std::string, std::vector<int64_t>>;

struct NotedFile {
  std::string key;                 // hash of the settings and of the inputs that it is made of
  int64_t events = -1, bytes = 0;  // events < 0: not done
  RowSizes rows = {};              // where the format does not keep them
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
