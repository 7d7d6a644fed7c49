#include "linac/root/table.h"

#include <fmt/ranges.h>

namespace linac::root {

std::string ColumnInfo::words() const {
  if (!refused.empty()) return fmt::format("not read ({})", refused);
  std::string words = type;
  for (int i = 0; i < lists; ++i) words = fmt::format("list<{}>", words);
  if (!extents.empty()) words += fmt::format("[{}]", fmt::join(extents, ", "));
  return words;
}

std::vector<std::unique_ptr<Table>> tables_of(const std::shared_ptr<const File>& file) {
  std::vector<std::unique_ptr<Table>> tables;
  for (const Key& key : file->keys()) {
    if (key.class_name == "TTree" || key.class_name == "TNtuple" || key.class_name == "TNtupleD")
      tables.push_back(open_tree(file, key));
    else if (key.class_name == "ROOT::RNTuple")
      tables.push_back(open_ntuple(file, key));
  }
  return tables;
}

}  // namespace linac::root
