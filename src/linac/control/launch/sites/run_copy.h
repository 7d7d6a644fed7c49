#pragma once
// The run of an attempt at a site, brought into the run's folder at the service: its record while it goes on, all of it
// at its end. From its object store, or from where the site's shells lead; a run of pods that keep it in a volume stays
// there. One thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "linac/control/sites/record.h"
#include "linac/control/sites/site.h"

namespace linac::launch {

class RunCopy {
 public:
  /// `keep_free`: bytes of the disk that it does not take.
  RunCopy(std::filesystem::path into, int64_t keep_free) : into_(std::move(into)), keep_free_(keep_free) {}

  /// Brings what the run has recorded by now, if that was not done a moment ago; a run that has written nothing yet is
  /// no error. Errors as control/sites/files has them; environment error where the disk has no room.
  void follow(const sites::Site& site, const sites::Record& record);
  /// Brings all.
  void finish(const sites::Site& site, const sites::Record& record);

 private:
  enum class Part { kRecord, kAll };
  static bool is_wanted(const std::string& name, Part part);
  void bring(const sites::Site& site, const sites::Record& record, Part part) const;
  void check_room(int64_t bytes) const;

  const std::filesystem::path into_;
  const int64_t keep_free_;
  std::chrono::steady_clock::time_point due_{};
};

}  // namespace linac::launch
