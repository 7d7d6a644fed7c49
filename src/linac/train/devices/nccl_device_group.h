#pragma once
// GPUs of one host as a group. NCCL carries between them; linac's own kernels add (model/kernels/cuda/tree_sum.h), as
// NCCL's reductions have an order of their own. A GPU has two streams: one for the work that is begun in its order, one
// for what threads bring (write). One GPU needs no NCCL.

#include <functional>
#include <optional>

#include "linac/train/devices/device_group.h"
#include "linac/train/devices/nccl.h"

namespace linac::devices {

class NcclDeviceGroup : public DeviceGroup {
 public:
  /// `library`: NCCL's.
  explicit NcclDeviceGroup(const std::vector<int>& gpus, const std::string& library = "libnccl.so.2");
  ~NcclDeviceGroup() override;

  int size() const override { return static_cast<int>(gpus_.size()); }
  std::string describe() const override;
  int gpu(int device) const override { return at(device).number; }
  float* allocate(int device, size_t floats) override;
  void release(int device, float* values) noexcept override;
  void write(int device, float* to, std::span<const float> from) override;
  void clear(int device, float* values, size_t count) override;
  void move(int from, const float* values, int to, float* target, size_t count) override;
  void broadcast(std::span<float* const> buffers, size_t count) override;
  void round(int device, float* values, size_t count, comm::Exchange exchange) override;
  void add(int device, float* sum, const float* other, size_t count, comm::Exchange exchange) override;
  void read(int device, std::span<float> to, const float* from) override;
  void wait() override;

 private:
  struct Gpu {
    int number;
    std::string name{};
    void* work = nullptr;  // streams
    void* bring = nullptr;
    Nccl::Communicator communicator = nullptr;
  };
  const Gpu& at(int device) const { return gpus_.at(static_cast<size_t>(device)); }
  template <class Work>
  auto on(int device, const Work& work) const;
  void need(int status, const char* what) const;
  void together(const char* what, const std::function<int()>& calls);
  void end() noexcept;

  std::vector<Gpu> gpus_;
  std::optional<Nccl> nccl_;  // of several
};

}  // namespace linac::devices
