#pragma once
// The lines that a training writes into metrics.jsonl (base/job/run_record.h), as points of metrics. The file is read
// while it grows, from the start again after a restart, and loses lines when a run resumes from a checkpoint; each of
// its steps still becomes points once. For that a cursor is kept with the points, in one transaction: how far the
// catalog has steps and epochs, apart for each rollback, after which other steps bear the same numbers. Bytes of
// strangers: what is no such line is passed over. Thread-safe functions.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/job/group_lines.h"
#include "linac/control/catalog/points.h"

namespace linac::execution {

/// A moment and the step at which the training stood: steps have no time of their own, they lie between two of these.
struct RunMoment {
  double time = 0;  // unix seconds; 0: not known
  int64_t step = 0;
};

/// Steps of which the file has lost lines, from the first to the last.
struct LostSteps {
  int64_t first = 0, last = 0;
  friend bool operator==(const LostSteps& a, const LostSteps& b) = default;
};

struct RunCursor {
  std::map<int64_t, int64_t> steps, epochs;  // the highest that the catalog has, by number of rollbacks
  double told = 0;                           // time of the last account of the workers
  // Where the next line is expected, and what the lines before it say.
  int64_t offset = 0, rollbacks = 0;
  RunMoment moment;
  std::vector<LostSteps>
      lost;  // as far as the file says so; the last of job::kGapsMax reaches to the end of the others

  std::string encoded() const;
  /// A fresh one for anything that encoded() does not write.
  static RunCursor decoded(const std::string& text);
  friend bool operator==(const RunCursor& a, const RunCursor& b) { return a.encoded() == b.encoded(); }
};

/// What one transaction may add, so that others need not wait long for it.
struct PieceMax {
  size_t points = 0, metrics = 0;
};

struct ReadLines {
  RunCursor before, after;
  std::vector<catalog::KeyedPoint> points;  // what the catalog lacks
  int64_t damaged = 0;                      // lines that are none
  std::vector<job::AuditLine> audits = {};  // that are news, kAuditsMax at most

  bool within(const PieceMax& most) const;
};
/// What is read at once of any run: names cost the writer, points of a curve next to nothing.
constexpr PieceMax kPieceMax{200'000, 1'000};
/// "7-9,12": the tag kLostStepsTag of a run.
std::string lost_steps_text(const std::vector<LostSteps>& lost);
constexpr const char* kLostStepsTag = "linac.lost_steps";

/// `text`: whole lines, those of the file from byte `offset` on; offset 0 begins the file anew. `until_ms`: when the
/// last of them was written, if that is known, else 0. kState if they do not follow the cursor, kInvalid for the record
/// of a newer linac.
ReadLines read_run_lines(const RunCursor& cursor, int64_t offset, std::string_view text, int64_t until_ms);

/// As read_run_lines() of as many of the first lines of `text` as bear `most` and kPieceBytes, one at least; the others
/// are behind `after.offset`. A single line may be beyond it. Steps between the last moment of a piece and its end have
/// the time of that moment, so pieces are as large as they can be.
ReadLines read_some_lines(const RunCursor& cursor, int64_t offset, std::string_view text, int64_t until_ms,
                          const PieceMax& most);

/// The part of `text` that is whole lines.
std::string_view whole_lines(std::string_view text);

constexpr size_t kRunLineBytesMax = 1 << 20, kPieceBytes = 2 << 20, kAuditsMax = 100;

}  // namespace linac::execution
