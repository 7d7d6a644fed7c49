#pragma once
// Files that one of several processes writes for all, each in its turn: who writes too late, as it was halted
// meanwhile, must not put its old file over a newer one. While a fence stands, what atomic_file.h writes below its
// folder comes into its place only in this process's turn. Thread-safe.
//
// That holds at whatever moment the process is halted, and for however long, by this order: the temporary file, whose
// name is this turn's alone, is made first; then `check` looks whether the turn is over; the rename comes last. Who has
// the next turn ends this one first, in the way that `check` sees; then it removes the temporary files that it finds
// (remove_remains()); and it looks at what is in its place only then. A rename that comes later finds no file.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace linac {

class WriteFence {
 public:
  /// `folder`: as in the paths of the files. Those of its subfolders `without` it does not concern. `check` throws when
  /// the turn is over.
  WriteFence(const std::filesystem::path& folder, std::vector<std::string> without, std::function<void()> check);
  ~WriteFence();
  WriteFence(const WriteFence&) = delete;
  WriteFence& operator=(const WriteFence&) = delete;

  /// A turn of this process begins, which has a name that is given once: letters, digits and '-'. Before the first one
  /// the fence concerns nothing.
  void begin(const std::string& turn);
  /// Removes what other turns have left half written in `in`, a folder below: files, and folders as well.
  void remove_remains(const std::filesystem::path& in) const;

 private:
  struct Facts;
  friend class FencedWrite;
  static std::shared_ptr<const Facts> fence_of(const std::filesystem::path& path);
  static std::vector<std::shared_ptr<Facts>>& fences();  // under the mutex

  const std::shared_ptr<Facts> facts_;
};

/// One file on its way to `path`, or a folder with several. Of the fence below which `path` lies, if there is one.
class FencedWrite {
 public:
  explicit FencedWrite(const std::filesystem::path& path);
  /// Where it is made first.
  std::filesystem::path temporary() const { return temporary_; }
  /// Throws if the turn is over. To be called once temporary() is there, and where something fails, as that is why.
  void check() const;

 private:
  std::shared_ptr<const WriteFence::Facts> fence_;  // empty: there is none
  std::filesystem::path temporary_;
};

/// Calls `fill` with an empty folder beside those of `folder`, whose files and folders then come into `folder`, each at
/// once: for files that others write. Environment error if that cannot be.
void fill_folder(const std::filesystem::path& folder, const std::function<void(const std::filesystem::path&)>& fill);

}  // namespace linac
