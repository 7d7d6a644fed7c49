#include "linac/train/devices/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "linac/base/base/error.h"

namespace linac::devices {
namespace {

constexpr const char* kWayOut = "run LINAC_CUDA=run deps/get.sh, or set distribution.devices_per_worker = 1";

}  // namespace

Nccl::Nccl(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    throw environment_error(
        fmt::format("[devices] several GPUs need NCCL, which cannot be loaded ({}); {}", dlerror(), kWayOut));
  }
  const auto find = [&](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(library_, name));
    if (call != nullptr) return;
    dlclose(library_);
    throw environment_error(
        fmt::format("[devices] {} has no {}: it is too old, or no NCCL; {}", library, name, kWayOut));
  };
  find(get_version, "ncclGetVersion");
  find(comm_init_all, "ncclCommInitAll");
  find(comm_destroy, "ncclCommDestroy");
  find(comm_abort, "ncclCommAbort");
  find(group_start, "ncclGroupStart");
  find(group_end, "ncclGroupEnd");
  find(send, "ncclSend");
  find(receive, "ncclRecv");
  find(broadcast, "ncclBroadcast");
  find(error_string, "ncclGetErrorString");
}

Nccl::~Nccl() {
  dlclose(library_);
}

// 2.28.9 is 22809; up to 2.8 it was 2809 (NCCL_VERSION in nccl.h).
std::string Nccl::version() const {
  int code = 0;
  get_version(&code);
  return code < 10000 ? fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100)
                      : fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace linac::devices
