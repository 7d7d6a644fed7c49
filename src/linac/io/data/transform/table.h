#pragma once
// A reader of event files that hands out what a Transform makes of them. It asks the file's own reader for the columns
// that formulas, keys and whoever reads need, and computes block by block. Used by one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/transform/transform.h"

namespace linac::data {

using OpenReader = std::function<std::unique_ptr<TableReader>(const std::vector<WantedColumn>&)>;

/// What a reader has seen of its file.
struct Selected {
  int64_t stored = 0;  // events of the file so far
  int64_t passed = 0;  // for which the filter holds
};

class TransformedTable : public TableReader {
 public:
  /// Data errors of the file's reader; user errors that name formula, place and the nearest column for a column that is
  /// not there and for types that do not go together. `name` is what messages call the file.
  TransformedTable(std::string name, const std::vector<WantedColumn>& columns, const Transform& transform,
                   const OpenReader& open);
  ~TransformedTable() override;

  /// Of the file: how many are handed out is known at its end.
  int64_t events() const override;
  const std::vector<StoredColumn>& columns() const override;
  /// Data errors name the event by its number in the file: also for a value that float32 does not hold, for lists of
  /// several lengths that meet, and for a key that is NaN.
  void next(std::vector<RaggedColumn>& out) override;
  const Selected& selected() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
  int64_t events_out_ = 0;  // handed out before
};

}  // namespace linac::data
