#pragma once
// A file that a user names as an output, by a path or by the URL of a store that is written to. One thread each.

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "linac/base/base/temporary_folder.h"

namespace linac::storage {

/// What is written to path() stands under the name when publish() returns: for a plain path they are the same; for a
/// URL the file is a temporary one ($TMPDIR) that is sent then, whole or not at all, and goes with this object.
class Output {
 public:
  /// Fails where writing would, as far as that is known before: for what is computed for hours first.
  explicit Output(const std::string& name);
  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  void publish() const;

 private:
  std::string name_, path_;
  std::unique_ptr<TemporaryFolder> folder_;
};

/// User error "[where] NAME: ..." for a name that ends otherwise than in one of these, ".h5": the file would be another
/// than it says. A name without an ending says nothing.
void need_ending(const std::string& name, std::initializer_list<std::string_view> endings, std::string_view where);

/// Whether there is such a file, by path or URL. Errors as of the store where that cannot be known.
bool exists(const std::string& name);
/// User error "[where] NAME: ..." if that is a URL: for folders that a program works in.
void need_local_folder(const std::filesystem::path& name, std::string_view where);

}  // namespace linac::storage
