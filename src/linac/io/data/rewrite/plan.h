#pragma once
// Which files a conversion writes, and of which events of which inputs each is made. It follows from inputs and
// settings alone, never from how many are written at a time. Needs Arrow's headers.

#include <arrow/api.h>

#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/rewrite/note.h"
#include "linac/io/data/rewrite/rewrite.h"

namespace linac::data {

struct RewriteInput {
  std::shared_ptr<const storage::Source> source;
  int64_t events = -1;                            // -1: not known, as nobody needs it
  std::shared_ptr<const RecordMarks> marks = {};  // of a file that was counted
  nlohmann::json identity;
};

struct RewritePiece {
  size_t input = 0;
  EventRange range = {};
};

struct RewriteTask {
  std::vector<RewritePiece> pieces;
  std::vector<std::string> files;  // one an output, in the folder
  std::string key;
};

struct RewritePlan {
  std::string folder, note;  // note: empty where there is none
  std::vector<RewriteInput> inputs;
  BatchColumns read;
  std::vector<columns::LeftOutColumn> left_out;  // of the first input
  std::vector<RewriteTask> tasks;
  nlohmann::json settings;
  bool by_input = false;  // a file for each input: others may be added

  std::string name_of(const std::string& file) const { return folder.empty() ? file : folder + "/" + file; }
};

/// Opens all inputs. Errors as of rewrite_tables().
RewritePlan plan_rewrite(const std::vector<std::string>& inputs, const std::string& destination,
                         const RewriteOptions& options);

}  // namespace linac::data
