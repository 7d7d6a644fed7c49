#pragma once
// What the check of one file says as it goes on. For the sources of this folder. One thread.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/verify/verify.h"

namespace linac::data {

class Findings {
 public:
  struct Stop {};

  /// `read`: bytes of the file that are done, beyond those told before.
  Findings(VerifiedFile& file, std::function<void(int64_t)> read, std::function<bool()> stop)
      : file_(file), read_(std::move(read)), stop_(std::move(stop)) {}
  virtual ~Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  virtual void damaged(std::string where, const std::string& what) {
    if (++file_.damages_in_all > static_cast<int64_t>(kDamagesShown)) return;
    // Messages of readers begin with their name and the file's.
    const std::string named = file_.url + ": ";
    const size_t name = what.find(named);
    file_.damages.push_back({std::move(where), name == std::string::npos ? what : what.substr(name + named.size())});
  }
  /// Runs `work`; a data error of it is damage. Returns whether it ended well.
  template <class Work>
  bool guarded(const std::string& where, Work&& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      damaged(where, error.what());
      return false;
    }
  }
  virtual void read(int64_t bytes) {
    bytes = std::clamp<int64_t>(bytes, 0, file_.bytes - told_);
    told_ += bytes;
    read_(bytes);
    if (stop_()) throw Stop{};
  }
  /// Where the check is, for one that does not come back.
  virtual void at(const std::string& /*where*/) {}
  void read_to_the_end() { read(file_.bytes - told_); }
  virtual void checked(std::string words, bool has_checksums) {
    file_.checked = std::move(words);
    file_.has_checksums = has_checksums;
  }

 private:
  VerifiedFile& file_;
  std::function<void(int64_t)> read_;
  std::function<bool()> stop_;
  int64_t told_ = 0;
};

/// "events 200 to 299".
inline std::string events_in_words(int64_t first, int64_t count) {
  return count == 1 ? fmt::format("event {}", first) : fmt::format("events {} to {}", first, first + count - 1);
}

// What the table of formats has of each: reads the whole file. What keeps one from reading on at all, as a damaged
// footer does, is its data error.
void check_tfrecord(const SourcePtr& source, Findings& findings);
void check_parquet(const SourcePtr& source, Findings& findings);
void check_arrow(const SourcePtr& source, Findings& findings);
void check_hdf5(const SourcePtr& source, Findings& findings);
void check_root(const SourcePtr& source, Findings& findings);

}  // namespace linac::data
