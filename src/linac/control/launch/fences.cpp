#include "linac/control/launch/fences.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linac/base/base/child_process.h"

namespace linac::launch {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the filter of system calls knows x86-64 and aarch64"
#endif

constexpr uint32_t kOtherAbi = 0x40000000;  // x32, of x86-64: the same calls by other numbers
constexpr uint32_t kOpenTreeAttr = 467;     // newer than the headers of some hosts
constexpr uint32_t kNewTime = 0x80;         // CLONE_NEWTIME; for clone() a part of the signal
constexpr uint32_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// clone3 has its flags where a filter cannot look: libraries take clone where there is none.
constexpr uint32_t kMissing[] = {SYS_clone3};
constexpr uint32_t kRefused[] = {
    // mounts and namespaces
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_setns, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig,
    SYS_fsmount, SYS_fspick, SYS_mount_setattr, kOpenTreeAttr,
    // the kernel itself, and the host
    SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_swapon,
    SYS_swapoff, SYS_syslog,
    // parts in which ways out were found
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    // what is the account's, and not the job's: its keys, files by their numbers
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_open_by_handle_at};

constexpr uint32_t refusal(int error) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
}

class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, kArchitecture, 1, 0);
    answer(refusal(ENOSYS));
    load(offsetof(seccomp_data, nr));
    when(BPF_JGE, kOtherAbi, refusal(ENOSYS));
    for (const uint32_t call : kMissing) when(BPF_JEQ, call, refusal(ENOSYS));
    for (const uint32_t call : kRefused) when(BPF_JEQ, call, refusal(EPERM));
    refuse_flags(SYS_unshare, kNewNamespaces | kNewTime);
    refuse_flags(SYS_clone, kNewNamespaces);
    answer(SECCOMP_RET_ALLOW);
  }
  const std::vector<sock_filter>& steps() const { return program_; }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(program_.data()), program_.size() * sizeof(sock_filter)};
  }

 private:
  void load(size_t offset) { program_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
  void answer(uint32_t value) { program_.push_back(BPF_STMT(BPF_RET | BPF_K, value)); }
  void jump(uint16_t condition, uint32_t value, uint8_t if_so, uint8_t else_) {
    program_.push_back(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | condition | BPF_K), value, if_so, else_));
  }
  void when(uint16_t condition, uint32_t value, uint32_t result) {
    jump(condition, value, 0, 1);
    answer(result);
  }
  // The flags are the first argument; both architectures keep its lower half first.
  void refuse_flags(uint32_t call, uint32_t flags) {
    jump(BPF_JEQ, call, 0, 4);
    load(offsetof(seccomp_data, args));
    when(BPF_JSET, flags, refusal(EPERM));
    load(offsetof(seccomp_data, nr));
  }

  std::vector<sock_filter> program_;
};

// linux/landlock.h of the fourth version and the sixth, which the headers of many hosts lack.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr int kOfPorts = 4, kOfScopes = 6;
constexpr uint64_t kBindTcp = 1, kAbstractSockets = 1, kSignals = 2;
constexpr int kRuleOfPort = 2, kAskVersion = 1;
struct Ruleset {
  uint64_t files = 0, network = 0, scopes = 0;
};
struct PortRule {
  uint64_t allowed = 0, port = 0;
};

}  // namespace

Descriptor in_memory(const std::string& bytes) {
  Descriptor file(memfd_create("linac", MFD_CLOEXEC));
  if (!file || write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0)
    return Descriptor();
  return above_streams(std::move(file));
}

Descriptor call_filter() {
  static const std::string bytes = Filter().bytes();
  return in_memory(bytes);
}

bool put_up_call_filter() {
  std::vector<sock_filter> steps = Filter().steps();
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

int landlock_version() {
  return std::max(0, static_cast<int>(syscall(kCreateRuleset, nullptr, 0, kAskVersion)));
}

bool put_up_landlock() {
  const int version = landlock_version();
  if (version < kOfPorts) return true;
  const Ruleset rules{.network = kBindTcp, .scopes = version < kOfScopes ? 0 : kAbstractSockets | kSignals};
  const Descriptor ruleset(static_cast<int>(syscall(kCreateRuleset, &rules, sizeof rules, 0)));
  const PortRule any_free{.allowed = kBindTcp, .port = 0};
  return ruleset && syscall(kAddRule, ruleset.get(), kRuleOfPort, &any_free, 0) == 0 &&
         syscall(kRestrictSelf, ruleset.get(), 0) == 0;
}

std::string lacks_of_landlock(int version) {
  if (version >= kOfScopes) return "";
  const std::string kernel =
      version == 0 ? "This kernel has no Landlock" : fmt::format("Landlock is of version {} here", version);
  const char* sockets = "jobs reach abstract sockets of the host";
  if (version >= kOfPorts) return fmt::format("{}: {}.", kernel, sockets);
  return fmt::format("{}: {}, and can listen at this service's port while it is not there.", kernel, sockets);
}

}  // namespace linac::launch
