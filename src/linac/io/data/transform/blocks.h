#pragma once
// A file's events block by block, as a Transform makes them: its lists sorted and cut, its columns computed, and of
// each event whether the filter lets it pass and to which part of a split it belongs. Who hands events out (table.h,
// the record batches of a conversion) takes from a block what it wants. Used by one thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/io/data/transform/plan.h"
#include "linac/io/data/transform/table.h"
#include "linac/io/data/transform/transform.h"

namespace linac::data {

class TransformedBlocks {
 public:
  /// `first`: the number of the first event that `open`'s reader hands out, for messages. `follow_rows`: the lists of
  /// rules know where their rows come from (BlockColumn::origin). Errors as of TransformedTable.
  TransformedBlocks(std::string name, const std::vector<WantedColumn>& columns, const Transform& transform,
                    const OpenReader& open, int64_t first = 0, bool follow_rows = false);

  const Plan& plan() const { return plan_; }
  const Selected& selected() const { return selected_; }

  /// The next block; false after the last.
  bool load();
  /// Of the block: those that pass, in order; all parts of a split.
  const std::vector<size_t>& passed() const { return passed_; }
  /// With a split: the part of each event of the block, and of one that deals folds the fold.
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<int>& folds() const { return folds_; }

  const BlockColumn& column(const ColumnSource& source) const {
    return source.computed ? computed_[source.place] : plan_.columns[source.place];
  }
  std::string text_of(const ColumnSource& source, float code) const;
  /// Throws the data error about an event of the block.
  [[noreturn]] void fail(size_t event_of_block, const std::string& what) const;

 private:
  int64_t event(size_t i) const { return first_ + static_cast<int64_t>(i); }
  void take(size_t i);
  bool in_a_rule(size_t i) const;
  expression::Block run(Formula& formula) const;
  void need_rows(const PlannedRule& rule, std::span<const uint32_t> found, const std::vector<uint32_t>& wanted,
                 const std::string& what) const;
  void apply(PlannedRule& rule);
  void compute(size_t i);
  void select();
  void divide();

  std::string name_;
  std::optional<SplitRule> split_;
  Plan plan_;
  std::vector<BlockColumn> computed_;
  std::vector<BlockColumn> keys_;  // of the file
  std::vector<RaggedColumn> read_;
  std::vector<size_t> passed_;
  std::vector<Part> parts_;
  std::vector<int> folds_;
  Selected selected_;
  bool follow_rows_;
  int64_t first_;      // event of the block
  size_t events_ = 0;  // of the block
};

}  // namespace linac::data
