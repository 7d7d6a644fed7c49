#include "linac/model/plugin/library.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"

namespace linac::plugin {

Library::Library(const std::filesystem::path& path, std::map<std::string, std::string> options)
    : path_(path.string()), options_(std::move(options)) {
  // A bare name would be looked for where libraries lie. Everything is resolved now, so that nothing fails in a step.
  void* const handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    refuse(fmt::format("cannot be loaded ({}); build it against linac's LibTorch: find_package(linac) in CMake",
                       dlerror()));
  }
  const auto describe = reinterpret_cast<const Exports* (*)()>(dlsym(handle, "linac_plugin"));
  if (describe == nullptr) refuse("offers nothing; end its source with LINAC_MODEL(Class) or LINAC_LOOP(Class)");
  exports_ = describe();
  if (exports_->abi != kAbi) {
    refuse(fmt::format("was built for version {} of linac/plugin/plugin.h, this linac has {}; build it again",
                       exports_->abi, kAbi));
  }
  if (std::string(exports_->torch) != TORCH_VERSION || exports_->cxx11_abi != _GLIBCXX_USE_CXX11_ABI) {
    refuse(fmt::format("was built with LibTorch {} (C++11 ABI {}), linac with {} ({}); build it against linac's",
                       exports_->torch, exports_->cxx11_abi, TORCH_VERSION, _GLIBCXX_USE_CXX11_ABI));
  }
}

void Library::refuse(const std::string& reason) const {
  throw user_error(fmt::format("[custom] {}: {}", path_, reason));
}

void Library::guarded(const std::string& what, const std::function<void()>& call) const {
  try {
    call();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    refuse(fmt::format("{} fails: {}", what, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    refuse(fmt::format("{} fails: {}", what, error.what()));
  }
}

void Library::need_known(const Options& options) const {
  const std::vector<std::string> known(options.asked().begin(), options.asked().end());
  for (const auto& [name, value] : options.values()) {
    if (options.asked().contains(name)) continue;
    const auto near = nearest(name, known);
    refuse(fmt::format("{} has no option '{}'{} (model.options: {})", exports_->class_name, name,
                       near ? fmt::format("; did you mean '{}'?", *near) : "",
                       known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
}

std::shared_ptr<Model> Library::make_model() const {
  const Options options(options_);
  std::shared_ptr<Model> model;
  guarded(exports_->class_name, [&] { model = exports_->make_model(options); });
  need_known(options);
  return model;
}

std::shared_ptr<Loop> Library::make_loop() const {
  const Options options(options_);
  std::shared_ptr<Loop> loop;
  guarded(exports_->class_name, [&] { loop = exports_->make_loop(options); });
  need_known(options);
  return loop;
}

}  // namespace linac::plugin
