#pragma once
// What a TTree says of itself: its branches, their leaves, and where their baskets are.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "linac/io/root/table.h"

namespace linac::root {

struct Leaf {
  std::string class_name, name, title;  // "TLeafF", "x", "x[n][3]"
  int32_t length = 1, value_bytes = 0;
  bool is_unsigned = false;
  uint64_t place = 0;    // what names it in the tree's record
  uint64_t counted = 0;  // the place of the leaf that holds its length; 0: fixed
};

/// A record with the values of some events; `kept` is one that is part of the tree's own record.
struct Basket {
  uint64_t seek = 0;
  uint32_t bytes = 0;
  int64_t first = 0, events = 0;
  std::shared_ptr<const std::vector<std::byte>> kept;  // values only
  std::vector<int32_t> kept_offsets;                   // in `kept`
};

struct Branch {
  std::string name;
  std::string path;        // "parent/name"
  std::string class_name;  // "TBranch", "TBranchElement", "TBranchObject", ...
  std::string file;        // another one that holds its baskets
  std::vector<Leaf> leaves;
  std::vector<Basket> baskets;
  std::vector<Branch> branches;
  int64_t events = 0, unpacked_bytes = 0;
  bool makes_offsets = false;  // entry offsets are not stored
  // Of a TBranchElement.
  std::string element_class;
  int32_t element_id = -1, element_type = 0, streamer_type = 0;
};

struct Tree {
  std::string name;
  int64_t events = 0;
  std::vector<Branch> branches;
};

Tree read_tree(const File& file, const Key& key);

/// What stands behind a tree's branches.
struct TreeRelations {
  std::vector<Friend> friends;
  std::string index;  // as of Table
};
TreeRelations read_relations(const File& file, const Key& key);

}  // namespace linac::root
