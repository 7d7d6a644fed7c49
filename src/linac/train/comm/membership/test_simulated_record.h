#pragma once
// The file that the first member of each view writes for all, in the order of train/train/record/record_fence.h and
// base/base/write_fence.h, one operation of the disk after the other: between any two the process may be halted or
// killed. The rules that the order is for are looked after, and each part of it can be left out. Used by one thread.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "linac/train/comm/membership/view.h"

namespace linac::comm {

class SimulatedRecord {
 public:
  enum class LeftOut { kNothing, kFirstAlone, kMark, kLook, kRemoval, kBeside };
  enum class Stage { kNotWriting, kMark, kLookAfterMark, kRemoval, kIdle, kMake, kLook, kFill, kRename };

  /// Of one process.
  struct Writer {
    View view{};
    uint64_t key = 0;
    Stage stage = Stage::kNotWriting;
  };

  explicit SimulatedRecord(LeftOut left_out) : left_out_(left_out) {}

  /// The process is in this view now. One that is not its first may still have a file to finish.
  void enter(Writer& writer, const View& view, uint64_t key) const {
    if (view.rank_of(key) == 0 || left_out_ == LeftOut::kFirstAlone) writer = {view, key, Stage::kMark};
  }
  /// There is something to write.
  void want(Writer& writer, const View& view) const {
    if (writer.stage == Stage::kIdle && writer.view.number == view.number) writer.stage = Stage::kMake;
  }

  /// The next operation; the rule that it broke in words.
  std::string work(Writer& writer) {
    const int64_t mine = writer.view.number;
    switch (writer.stage) {
      case Stage::kNotWriting:
      case Stage::kIdle:
        return "";
      case Stage::kMark:
        if (left_out_ != LeftOut::kMark) mark_ = std::max(mark_, mine);
        writer.stage = Stage::kLookAfterMark;
        return "";
      case Stage::kLookAfterMark:
        writer.stage = mark_ > mine ? Stage::kNotWriting : Stage::kRemoval;
        return "";
      case Stage::kRemoval:
        if (left_out_ != LeftOut::kRemoval) std::erase_if(beside_, [&](const auto& one) { return one.first != mine; });
        entered_ = std::max(entered_, mine);
        writer.stage = Stage::kIdle;
        return "";
      case Stage::kMake:
        if (left_out_ == LeftOut::kBeside)
          in_place_ = File{};
        else
          beside_[mine] = File{};
        writer.stage = left_out_ == LeftOut::kLook ? Stage::kFill : Stage::kLook;
        return "";
      case Stage::kLook:
        writer.stage = mark_ > mine ? Stage::kNotWriting : Stage::kFill;
        return "";
      case Stage::kFill:
        if (left_out_ == LeftOut::kBeside) return put(writer, {.whole = true});
        if (const auto file = beside_.find(mine); file != beside_.end()) file->second.whole = true;
        writer.stage = Stage::kRename;
        return "";
      case Stage::kRename: {
        const auto file = beside_.find(mine);
        writer.stage = file == beside_.end() ? Stage::kNotWriting : Stage::kIdle;
        return file == beside_.end() ? "" : put(writer, beside_.extract(file).mapped());
      }
    }
    return "";
  }

  /// Whoever reads finds no half of a file.
  bool is_whole() const { return !in_place_ || in_place_->whole; }
  int64_t written() const { return written_; }

 private:
  struct File {
    bool whole = false;
  };

  std::string put(Writer& writer, const File& file) {
    in_place_ = file;
    writer.stage = Stage::kIdle;
    ++written_;
    if (writer.view.rank_of(writer.key) != 0)
      return fmt::format("a file of view {} by one that is not its first", writer.view.number);
    if (writer.view.number < entered_)
      return fmt::format("a file of view {} after the writer of view {} had begun", writer.view.number, entered_);
    return "";
  }

  const LeftOut left_out_;
  int64_t mark_ = 0, entered_ = 0, written_ = 0;  // views, but for the last one
  std::map<int64_t, File> beside_;                // on their way, by the view of who writes them
  std::optional<File> in_place_;
};

}  // namespace linac::comm
