// dump_root FILE OUT: every column of a ROOT file as linac reads it. Prints the tables as JSON; OUT/TABLE.COLUMN.values
// (float), .outer and .inner (uint32) have the content. For tests/peers/root_test.py.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "linac/io/root/table.h"

namespace {

using namespace linac;

template <class T>
void write(const std::string& path, const std::vector<T>& values) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

nlohmann::json dump(const root::Table& table, size_t column, const std::string& out, int64_t events_a_call) {
  const root::ColumnInfo& info = table.columns()[column];
  nlohmann::json line{{"name", info.name}, {"words", info.words()}, {"lists", info.lists}, {"extents", info.extents}};
  if (!info.refused.empty()) {
    line["refused"] = info.refused;
    return line;
  }
  root::Block block;
  try {
    const auto reader = table.reader(column);
    for (int64_t first = 0; first < table.events(); first += events_a_call)
      reader->read(first, std::min(events_a_call, table.events() - first), block);
  } catch (const Error& error) {
    line["error"] = error.what();
    return line;
  }
  write(out + ".values", block.values);
  write(out + ".outer", block.outer);
  write(out + ".inner", block.inner);
  if (info.is_text) line["texts"] = block.texts;
  return line;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string path = arguments[1], out = arguments[2];
  nlohmann::json tables = nlohmann::json::array();
  try {
    const auto all = root::tables_of(std::make_shared<const root::File>(storage::store_of(path).open(path), path));
    for (size_t i = 0; i < all.size(); ++i) {
      nlohmann::json columns = nlohmann::json::array();
      for (size_t column = 0; column < all[i]->columns().size(); ++column)
        columns.push_back(
            dump(*all[i], column, fmt::format("{}/{}.{}", out, i, column), 1 + 100 * static_cast<int64_t>(column % 3)));
      tables.push_back({{"name", all[i]->name()}, {"events", all[i]->events()}, {"columns", columns}});
    }
  } catch (const Error& error) {
    fmt::print("{}\n", nlohmann::json{{"error", error.what()}}.dump());
    return 0;
  }
  fmt::print("{}\n", nlohmann::json{{"tables", tables}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}
