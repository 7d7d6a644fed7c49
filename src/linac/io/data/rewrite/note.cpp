#include "linac/io/data/rewrite/note.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/store.h"

namespace linac::data {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

}  // namespace

std::optional<RewriteNote> read_note(const std::string& name, const std::string& where) {
  if (!storage::exists(name)) return std::nullopt;
  const auto source = storage::Source::open(name);
  std::string text(static_cast<size_t>(source->size()), '\0');
  source->read(0, std::as_writable_bytes(std::span(text)));
  try {
    const json from = json::parse(text);
    if (from.at("version") != kVersion) throw std::runtime_error("another version");
    RewriteNote note{.settings = from.at("settings"), .files = {}};
    for (const auto& [file, entry] : from.at("files").items())
      note.files[file] = {entry.at("key"), entry.value("events", int64_t{-1}), entry.value("bytes", int64_t{0}),
                          entry.value("rows", RowSizes())};
    return note;
  } catch (const std::exception& error) {
    throw user_error(fmt::format("[{}] {}: is no note of a conversion ({}); give another folder, or --overwrite", where,
                                 name, error.what()));
  }
}

void write_note(const std::string& name, const RewriteNote& note) {
  json files = json::object();
  for (const auto& [file, entry] : note.files) {
    files[file] = {{"key", entry.key}};
    if (entry.events >= 0) files[file].update({{"events", entry.events}, {"bytes", entry.bytes}});
    if (!entry.rows.empty()) files[file]["rows"] = entry.rows;
  }
  const json whole{{"version", kVersion}, {"settings", note.settings}, {"files", files}};
  storage::store_of(name).write(name, whole.dump(1) + "\n");
}

std::string differing(const json& a, const json& b) {
  std::vector<std::string> names;
  std::set<std::string> all;
  for (const json* one : {&a, &b})
    if (one->is_object())
      for (const auto& [name, value] : one->items()) all.insert(name);
  for (const std::string& name : all)
    if (!a.contains(name) || !b.contains(name) || a.at(name) != b.at(name)) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace linac::data
