#pragma once
// What a service keeps of an attempt at a site, in a file for its owner alone: DATA/sites/SITE/LABEL.json. It is there
// before the site hears of the attempt and until the attempt's end is in the catalog and nothing of it is left there:
// so a service that was killed goes on with it. Thread-safe for different labels.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/sites/record.h"

namespace linac::launch {

struct SiteAttempt {
  std::string label;  // the queue's; the site knows it as kept.record.label
  sites::KeptLaunch kept;
  bool tried = false;         // the site may have been told
  int64_t started_ms = 0;     // since 1970, when it was first seen running; 0: not yet
  int64_t cancelled_ms = 0;   // when the site was last told to end it; 0: never
  double stop_grace_s = 120;  // between that it is asked to end and that it is made to
};

class SiteAttempts {
 public:
  /// Makes the folder if it is not there. Environment error if it cannot be made.
  explicit SiteAttempts(std::filesystem::path folder);

  /// Environment error if it cannot be written.
  void keep(const SiteAttempt& attempt) const;
  /// Nothing if there is none; environment error for a file that is damaged.
  std::optional<SiteAttempt> find(const std::string& label) const;
  void forget(const std::string& label) const;
  std::vector<std::string> labels() const;

 private:
  std::filesystem::path file(const std::string& label) const;

  const std::filesystem::path folder_;
};

}  // namespace linac::launch
