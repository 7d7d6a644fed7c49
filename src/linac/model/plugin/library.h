#pragma once
// A shared object with a model or a loop of somebody else's (plugin.h), opened. It stays in the process to its end.
// Immutable; instances may be made in several threads.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "linac/model/plugin/plugin.h"

namespace linac::plugin {

class Library {
 public:
  /// User error naming the file if it cannot be loaded, offers nothing, or was built for another linac or LibTorch.
  Library(const std::filesystem::path& path, std::map<std::string, std::string> options);

  bool is_loop() const { return exports_->make_loop != nullptr; }
  std::string class_name() const { return exports_->class_name; }

  /// A new instance. User error with the reason if its constructor throws, or never asks for an option that is set.
  std::shared_ptr<Model> make_model() const;
  std::shared_ptr<Loop> make_loop() const;

  /// Calls foreign code: what it throws becomes a user error "[custom] FILE: `what` fails: ...".
  void guarded(const std::string& what, const std::function<void()>& call) const;
  /// A user error about this file.
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  void need_known(const Options& options) const;

  std::string path_;
  std::map<std::string, std::string> options_;
  const Exports* exports_ = nullptr;
};

}  // namespace linac::plugin
