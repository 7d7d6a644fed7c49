#pragma once
// NCCL, loaded when it is asked for: a machine without GPUs needs none of it, and LibTorch's CUDA half brings its own.
// Immutable; its functions are as thread-safe as NCCL's.

#include <cstddef>
#include <string>

namespace linac::devices {

class Nccl {
 public:
  // As nccl.h of NCCL 2 has them (NCCL API reference); their ABI is kept within version 2.
  using Communicator = struct ncclComm*;
  using Stream = void*;  // cudaStream_t
  static constexpr int kSuccess = 0, kFloat = 7;

  /// Environment error if the library, or a function of it, is not there.
  explicit Nccl(const std::string& library = "libnccl.so.2");
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  /// "2.28.9"
  std::string version() const;

  int (*get_version)(int*) = nullptr;
  int (*comm_init_all)(Communicator*, int, const int*) = nullptr;
  int (*comm_destroy)(Communicator) = nullptr;
  int (*comm_abort)(Communicator) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, size_t, int, int, Communicator, Stream) = nullptr;
  int (*receive)(void*, size_t, int, int, Communicator, Stream) = nullptr;
  int (*broadcast)(const void*, void*, size_t, int, int, Communicator, Stream) = nullptr;
  const char* (*error_string)(int) = nullptr;

 private:
  void* library_;
};

}  // namespace linac::devices
