#pragma once
// What an RNTuple says of itself: fields, columns, clusters and where their pages are. RNTuple Binary Format
// Specification 1.0 (ROOT, tree/ntuple/doc/BinaryFormatSpecification.md).

#include <cstdint>
#include <string>
#include <vector>

#include "linac/io/root/file.h"

namespace linac::root {

enum class FieldRole : uint16_t { kLeaf, kCollection, kRecord, kVariant, kStreamer };

struct Field {
  std::string name, type;
  uint32_t parent = 0;  // itself: a field on top
  FieldRole role = FieldRole::kLeaf;
  uint64_t repeated = 0;          // 0: once
  std::vector<uint32_t> columns;  // of its first representation
  bool other_columns = false;     // there are other representations
  std::vector<uint32_t> fields;   // below
};

struct NtupleColumn {
  uint16_t type = 0, bits = 0;
  int64_t first = 0;           // the index of the first element, for a column that was added late
  double least = 0, most = 0;  // of a quantised one
};

struct Page {
  uint64_t seek = 0, bytes = 0;
  uint32_t elements = 0;
  bool has_checksum = false;
};

struct ColumnPages {
  std::vector<Page> pages;
  uint64_t elements = 0;
  bool is_suppressed = false;
};

struct Cluster {
  int64_t first = 0, events = 0;
  std::vector<ColumnPages> columns;
};

struct Ntuple {
  std::string name;
  std::vector<Field> fields;
  std::vector<NtupleColumn> columns;
  std::vector<Cluster> clusters;  // without a gap, from event 0 on
  int64_t events = 0;
};

Ntuple read_ntuple(const File& file, const Key& key);

}  // namespace linac::root
