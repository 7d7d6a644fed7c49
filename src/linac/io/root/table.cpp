#include "linac/io/root/table.h"

#include <fmt/ranges.h>

namespace linac::root {

std::string ColumnInfo::words() const {
  if (!refused.empty()) return fmt::format("not read ({})", refused);
  std::string words = type;
  for (int i = 0; i < lists; ++i) words = fmt::format("list<{}>", words);
  if (!extents.empty()) words += fmt::format("[{}]", fmt::join(extents, ", "));
  return words;
}

namespace {

bool is_ntuple(const Key& key) {
  return key.class_name == "ROOT::RNTuple";
}

}  // namespace

bool is_table(const Key& key) {
  return is_ntuple(key) || key.class_name == "TTree" || key.class_name == "TNtuple" || key.class_name == "TNtupleD";
}

std::unique_ptr<Table> open_table(const std::shared_ptr<const File>& file, const Key& key) {
  return is_ntuple(key) ? open_ntuple(file, key) : open_tree(file, key);
}

std::vector<std::unique_ptr<Table>> tables_of(const std::shared_ptr<const File>& file) {
  std::vector<std::unique_ptr<Table>> tables;
  for (const Key& key : file->keys())
    if (is_table(key)) tables.push_back(open_table(file, key));
  return tables;
}

}  // namespace linac::root
