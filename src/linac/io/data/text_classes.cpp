#include "linac/io/data/text_classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/io/data/formats/text_codes.h"

namespace linac::data {
namespace {

using Tables = std::vector<std::shared_ptr<const PackedTable>>;

void need_names(const ColumnRequest& request) {
  std::set<std::string> seen;
  for (const std::string& name : request.texts->names) {
    if (name.empty() || !seen.insert(name).second) {
      throw user_error(fmt::format("[data] the classes of column '{}' name {}; name each class once", request.column,
                                   name.empty() ? "an empty text" : shown_text(name) + " twice"));
    }
  }
}

// Whether they hold texts, all or none.
bool hold_texts(const Tables& tables, size_t place, const ColumnRequest& request) {
  const PackedTable* of_texts = nullptr;
  const PackedTable* of_numbers = nullptr;
  for (const auto& table : tables)
    if (table->events() > 0) (table->columns()[place].is_text ? of_texts : of_numbers) = table.get();
  if (of_texts != nullptr && of_numbers != nullptr) {
    throw data_error(fmt::format("[data] {}: column '{}' holds numbers, and texts in {}; write it one way in all files",
                                 of_numbers->file().url, request.column, of_texts->file().url));
  }
  if (of_numbers != nullptr && request.texts->always) {
    throw data_error(
        fmt::format("[data] {}: column '{}' holds numbers, and in the training files texts; write the texts: {}",
                    of_numbers->file().url, request.column, list_of_classes(request.texts->names)));
  }
  return of_texts != nullptr;
}

std::vector<std::string> texts_of(const Tables& tables, size_t place) {
  std::set<std::string> all;
  for (const auto& table : tables)
    for (const StoredText& one : table->columns()[place].texts) all.insert(one.text);
  return {all.begin(), all.end()};
}

void need_count(const Tables& tables, const ColumnRequest& request, const std::vector<std::string>& names) {
  const TextClasses& texts = *request.texts;
  const auto found = static_cast<int64_t>(names.size());
  if (found == texts.count) return;
  const bool given = !texts.names.empty();
  const std::string what =
      given ? fmt::format("{} classes are named for column '{}'", found, request.column)
            : fmt::format("{}: column '{}' has {} different texts", tables.front()->file().url, request.column, found);
  const std::string advice =
      given ? "name as many"
      : found > texts.count
          ? fmt::format("give the model {} outputs there, or mend the texts", found)
          : "name all classes in data.classes, in the order of the output, or give the model fewer outputs there";
  const std::string message = fmt::format("[data] {} ({}), and the output '{}' tells {} apart; {}", what,
                                          list_of_classes(names), texts.output, texts.count, advice);
  throw given ? user_error(message) : data_error(message);
}

[[noreturn]] void refuse_text(const PackedTable& table, const ColumnRequest& request, const StoredText& unknown,
                              const std::vector<std::string>& names) {
  const auto near = nearest(unknown.text, names);
  throw data_error(fmt::format(
      "[data] {}: {}: column '{}' holds {}, and the classes are {}{}; mend the file, leave "
      "such events out, or take a model that was trained with this class",
      table.file().url, describe_event(table.file(), unknown.first), request.column, shown_text(unknown.text),
      list_of_classes(names), near ? fmt::format(" (is {} meant?)", shown_text(*near)) : ""));
}

}  // namespace

SettledClasses settle_classes(const Tables& tables, size_t place, const ColumnRequest& request) {
  if (!request.texts || !hold_texts(tables, place, request)) return {};
  need_names(request);
  SettledClasses settled{request.texts->names, {}};
  if (settled.names.empty()) settled.names = texts_of(tables, place);
  need_count(tables, request, settled.names);
  std::unordered_map<std::string, size_t> place_of;
  for (size_t i = 0; i < settled.names.size(); ++i) place_of[settled.names[i]] = i;
  for (const auto& table : tables) {
    settled.places.emplace_back();
    for (const StoredText& one : table->columns()[place].texts) {
      const auto found = place_of.find(one.text);
      if (found == place_of.end()) refuse_text(*table, request, one, settled.names);
      settled.places.back().push_back(found->second);
    }
  }
  return settled;
}

std::string list_of_classes(const std::vector<std::string>& names) {
  constexpr size_t kShown = 12;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) shown.push_back(shown_text(names[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     names.size() > kShown ? fmt::format(" and {} others", names.size() - kShown) : "");
}

}  // namespace linac::data
