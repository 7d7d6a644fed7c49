#pragma once
// The columns of batches that other programs take (`linac data batches`): what is asked for by a word, and what the
// files say where the word leaves it open. Pure but for reading files.

#include <map>
#include <string>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/io/data/transform/transform.h"

namespace linac::cli {

/// What ends a list in a batch of rows that are handed on without padding: files hold no row of it alone but by
/// design, and every value in them is finite.
inline constexpr float kListEnd = -3.4028234663852886e38F;

struct BatchColumn {
  std::string name;
  data::ColumnRequest request;
  /// Lists of several lengths, handed on as values and offsets: the request pads with kListEnd to the longest.
  bool ragged = false;
  /// Of a ragged one: each of its rows is a number, not a list of one.
  bool flat = false;
};

/// "GRU_input:801x19", "HLF_input:14", "energy", for `where` in messages. User error for what is no such word.
data::ColumnRequest column_of(const std::string& word, const std::string& where);

struct ColumnWords {
  std::vector<std::string> columns;                         // NAME or NAME:SHAPE
  std::map<std::string, std::vector<std::string>> joined;   // of a NAME: the numbers of the files that make its list
  std::map<std::string, std::vector<std::string>> classes;  // of columns of texts; without: the texts of all files
  int window = 0;                                           // files at a time; 0: all
};

/// In the order of the words. A shape that a word does not give is that of the first file with events: lists that have
/// one length in its first block have it in all events, others are ragged. `urls`: of files, expanded. Errors as of
/// data::EventTable::open; user error for a column that is named twice, and for what a window does not tell.
std::vector<BatchColumn> batch_columns(const ColumnWords& words, const std::vector<std::string>& urls,
                                       const data::Transform& transform);

}  // namespace linac::cli
