#pragma once
// The tables of a ROOT file: its trees (TTree, TNtuple) and RNTuples, each with columns of events. What is stored in a
// way that is not read is a column as well, with the reason. A Table and its readers share the File; none of them is
// thread-safe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linac/io/root/file.h"

namespace linac::root {

struct ColumnInfo {
  std::string name;
  std::string type;              // of a value: "float", "int32", "text"
  int lists = 0;                 // an event has one value, a list, or a list of lists
  std::vector<int64_t> extents;  // the fixed axes of what an event, or the innermost list, holds
  bool is_text = false;
  std::string refused;        // why it is not read; empty if it is
  double bytes_an_event = 0;  // unpacked, about

  /// "list<float>[3]".
  std::string words() const;
};

/// Events in a row of one column.
struct Block {
  bool as_stored = false;          // whether the values go to `stored` in place of `values`
  std::vector<float> values;       // of all events
  std::vector<std::byte> stored;   // the same as they are stored: of ColumnInfo::type, little-endian, a bool in a byte
  std::vector<uint32_t> outer;     // lists >= 1: the length of each event's list
  std::vector<uint32_t> inner;     // lists == 2: the length of each list in those
  std::vector<std::string> texts;  // of a column of texts, one an event
};

class ColumnReader {
 public:
  virtual ~ColumnReader() = default;
  /// Appends the events first ... first + count - 1, which the table has. Quick where `first` goes on from the call
  /// before. Data error naming file, column and event for what is damaged.
  virtual void read(int64_t first, int64_t count, Block& out) = 0;
};

/// A basket or a page as it lies in the file.
struct StoredPart {
  std::string column;             // of a branch or a field; empty: of the table
  int64_t first = 0, events = 0;  // of a page: those of its cluster
  uint64_t bytes = 0;
  bool has_checksum = false;  // of its own, beside those of compressed blocks
};
/// `damage` is empty where the part is sound. May throw, to end it.
using TakePart = std::function<void(const StoredPart& part, const std::string& damage)>;

/// A tree that another one names as its friend: the same events, with other columns (TTree::AddFriend).
struct Friend {
  std::string name;  // by which its columns are named
  std::string tree;  // its own
  std::string file;  // in which it lies; empty: in this one
};

class Table {
 public:
  virtual ~Table() = default;
  virtual const std::string& name() const = 0;
  virtual int64_t events() const = 0;
  virtual const std::vector<ColumnInfo>& columns() const = 0;
  /// Of a column that is not refused. The table outlives it.
  virtual std::unique_ptr<ColumnReader> reader(size_t column) const = 0;
  /// Reads and unpacks every basket or page, also of columns that are refused, and compares the checksums that are
  /// there. `take` hears of each.
  virtual void check_parts(const TakePart& take) const = 0;
  /// As they were when it was written. Data error for a damaged record.
  virtual std::vector<Friend> friends() const { return {}; }
  /// The columns by which its events are found where it is a friend ("run, event", TTree::BuildIndex); empty: by their
  /// place. Data error for a damaged record.
  virtual std::string index() const { return {}; }
};

/// Whether the record is a tree or an RNTuple.
bool is_table(const Key& key);
std::unique_ptr<Table> open_table(const std::shared_ptr<const File>& file, const Key& key);
/// In the file's order. Data error for a damaged file.
std::vector<std::unique_ptr<Table>> tables_of(const std::shared_ptr<const File>& file);

std::unique_ptr<Table> open_tree(const std::shared_ptr<const File>& file, const Key& key);
std::unique_ptr<Table> open_ntuple(const std::shared_ptr<const File>& file, const Key& key);

}  // namespace linac::root
