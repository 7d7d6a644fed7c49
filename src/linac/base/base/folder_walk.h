#pragma once
// All that lies below a folder, however deep, by descriptors: no link is followed, and whoever moves folders about
// meanwhile leads nobody elsewhere. Few descriptors are open at a time. Thread-safe.

#include <sys/stat.h>

#include <string>

#include "linac/base/base/descriptor.h"

namespace linac {

class FolderVisitor {
 public:
  virtual ~FolderVisitor() = default;
  /// `name`, which lies in the opened folder `at` and is as `about` says. Whether to go into it; then leave() follows,
  /// also if it has vanished meanwhile.
  virtual bool enter(int at, const std::string& name, const struct stat& about) = 0;
  /// All in it has been seen. `at` is -1 if the folder that it lay in has vanished.
  virtual void leave(int at, const std::string& name) = 0;
  /// One that cannot be looked at, or not be gone into (errno). Throws, or it is left out.
  virtual void unreadable(const std::string& name, const struct stat& about) = 0;
};

/// In no order. What vanishes meanwhile is left out.
void walk(Descriptor folder, FolderVisitor& visitor);

/// The folder `name` in the folder `at`, itself and not what a link leads to. Empty (errno) if it is none.
Descriptor open_folder_at(int at, const std::string& name);

}  // namespace linac
