#pragma once
// The devices of one worker as a group: memory on each of them, what moves between them, and the two operations of
// which the sum over replicas is made. It carries and adds; in which order is decided by who calls it (device_sum.h).
//
//   make_nccl_group()  GPUs of this host; NCCL carries, linac's kernels add       nccl_device_group.cpp
//   HostDeviceGroup    the processor's memory in place of theirs, for tests       host_device_group.h
//
// What stands in each function's comment about threads holds for all of them. A device that fails is an environment
// error that names it.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/train/comm/exchange.h"

namespace linac::devices {

class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;

  virtual int size() const = 0;
  /// For people.
  virtual std::string describe() const = 0;
  /// CUDA's number of a device; -1 for one that is emulated.
  virtual int gpu(int device) const = 0;

  /// Of a device, not initialised. Every allocation goes back before the group ends. Thread-safe.
  virtual float* allocate(int device, size_t floats) = 0;
  virtual void release(int device, float* values) noexcept = 0;

  /// From the host's memory, or from that of the device, whoever allocated it; done when it returns. Thread-safe.
  virtual void write(int device, float* to, std::span<const float> from) = 0;

  /// Work of a device, which begins when what was begun there before has ended. One thread at a time begins work.
  virtual void clear(int device, float* values, size_t count) = 0;
  /// To the memory of another device.
  virtual void move(int from, const float* values, int to, float* target, size_t count) = 0;
  /// What lies in the first buffer comes into all: buffer i is of device i.
  virtual void broadcast(std::span<float* const> buffers, size_t count) = 0;
  /// As comm::round_to.
  virtual void round(int device, float* values, size_t count, comm::Exchange exchange) = 0;
  /// sum[i] += other[i], then rounded.
  virtual void add(int device, float* sum, const float* other, size_t count, comm::Exchange exchange) = 0;
  /// To the host's memory; done when it returns, and so is all work of the device before.
  virtual void read(int device, std::span<float> to, const float* from) = 0;
  /// Until all work of all devices is done.
  virtual void wait() = 0;
};

/// The GPUs of these numbers. More than one needs NCCL, whose library is loaded here. Environment error if there is
/// none, or the GPUs are not to be had.
std::shared_ptr<DeviceGroup> make_nccl_group(const std::vector<int>& gpus);

/// Memory of a device, given back at the end. Borrows the group.
class DeviceBuffer {
 public:
  DeviceBuffer(DeviceGroup& group, int device, size_t floats)
      : size_(floats), memory_(floats == 0 ? nullptr : group.allocate(device, floats), Release{&group, device}) {}
  float* data() const { return memory_.get(); }
  size_t size() const { return size_; }

 private:
  struct Release {
    DeviceGroup* group;
    int device;
    void operator()(float* values) const noexcept { group->release(device, values); }
  };
  size_t size_;
  std::unique_ptr<float, Release> memory_;
};

}  // namespace linac::devices
