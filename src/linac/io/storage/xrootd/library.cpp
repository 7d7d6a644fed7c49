#include "linac/io/storage/xrootd/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "linac/base/base/error.h"

namespace linac::storage::xrootd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "liblinac_xrootd.so";

[[noreturn]] void fail(const std::string& why) {
  throw environment_error(
      fmt::format("[root] XRootD's client cannot be loaded ({}); install Debian's libxrootd-client-dev "
                  "and build linac again, or copy the files first (xrdcp)",
                  why));
}

const Binding& loaded() {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& place : {beside / kName, beside / ".." / "lib" / kName}) {
    std::error_code none;
    if (!fs::exists(place, none)) continue;
    // It stays: its threads run until the program ends.
    void* const object = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (object == nullptr) fail(::dlerror());
    const auto function = reinterpret_cast<decltype(&linac_xrootd_binding)>(::dlsym(object, "linac_xrootd_binding"));
    if (function == nullptr || function()->version != Binding::kVersion) fail(place.string() + " is of another linac");
    return *function();
  }
  fail(fmt::format("no {} beside the program", kName));
}

}  // namespace

const Binding& binding() {
  static const Binding& once = loaded();
  return once;
}

}  // namespace linac::storage::xrootd
