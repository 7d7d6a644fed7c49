#pragma once
// Devices that are not there: each has a part of the host's memory for its own, and the processor computes. So the
// whole path of several devices runs on a machine without a GPU. It is strict where a GPU is: an operation that touches
// memory of another device, or of the host where a device's is meant, is an internal error that names the device.

#include <limits>
#include <map>
#include <mutex>

#include "linac/train/devices/device_group.h"

namespace linac::devices {

class HostDeviceGroup : public DeviceGroup {
 public:
  /// `floats_max`: the memory of each.
  explicit HostDeviceGroup(int size, size_t floats_max = std::numeric_limits<size_t>::max());
  ~HostDeviceGroup() override;

  int size() const override { return static_cast<int>(memories_.size()); }
  std::string describe() const override;
  int gpu(int) const override { return -1; }
  float* allocate(int device, size_t floats) override;
  void release(int device, float* values) noexcept override;
  void write(int device, float* to, std::span<const float> from) override;
  void clear(int device, float* values, size_t count) override;
  void move(int from, const float* values, int to, float* target, size_t count) override;
  void broadcast(std::span<float* const> buffers, size_t count) override;
  void round(int device, float* values, size_t count, comm::Exchange exchange) override;
  void add(int device, float* sum, const float* other, size_t count, comm::Exchange exchange) override;
  void read(int device, std::span<float> to, const float* from) override;
  void wait() override {}

 private:
  struct Memory {
    std::map<const float*, size_t> allocations;  // floats, by where they begin
    size_t used = 0;                             // floats
  };
  void need_memory_of(int device, const float* values, size_t count) const;

  mutable std::mutex mutex_;
  std::vector<Memory> memories_;
  size_t floats_max_;
};

}  // namespace linac::devices
