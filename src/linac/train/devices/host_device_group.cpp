#include "linac/train/devices/host_device_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "linac/base/base/aligned.h"
#include "linac/base/base/error.h"

namespace linac::devices {
namespace {

constexpr int kDevicesMax = 64;

AlignedAllocator<float> allocator;

}  // namespace

HostDeviceGroup::HostDeviceGroup(int size, size_t floats_max)
    : memories_(static_cast<size_t>(size)), floats_max_(floats_max) {
  LINAC_CHECK(size >= 1 && size <= kDevicesMax);
}

HostDeviceGroup::~HostDeviceGroup() {
  for (const Memory& memory : memories_)
    for (const auto& [values, floats] : memory.allocations) allocator.deallocate(const_cast<float*>(values), floats);
}

std::string HostDeviceGroup::describe() const {
  return fmt::format("{} emulated", size());
}

float* HostDeviceGroup::allocate(int device, size_t floats) {
  const std::lock_guard lock(mutex_);
  Memory& memory = memories_.at(static_cast<size_t>(device));
  if (floats > floats_max_ - memory.used) {
    throw environment_error(fmt::format("[devices] emulated device {}: no memory for {} floats ({} of {} are in use)",
                                        device, floats, memory.used, floats_max_));
  }
  float* const values = allocator.allocate(floats);
  // As a GPU's: whoever reads it before writing gets NaN.
  std::fill_n(values, floats, std::numeric_limits<float>::quiet_NaN());
  memory.allocations.emplace(values, floats);
  memory.used += floats;
  return values;
}

void HostDeviceGroup::release(int device, float* values) noexcept {
  const std::lock_guard lock(mutex_);
  Memory& memory = memories_[static_cast<size_t>(device)];
  const auto found = memory.allocations.find(values);
  if (found == memory.allocations.end()) return;
  memory.used -= found->second;
  allocator.deallocate(values, found->second);
  memory.allocations.erase(found);
}

void HostDeviceGroup::need_memory_of(int device, const float* values, size_t count) const {
  const std::lock_guard lock(mutex_);
  const Memory& memory = memories_.at(static_cast<size_t>(device));
  const auto behind = memory.allocations.upper_bound(values);
  if (behind != memory.allocations.begin()) {
    const auto& [begin, floats] = *std::prev(behind);
    if (values + count <= begin + floats) return;
  }
  throw Error(ErrorCode::kInternal,
              fmt::format("[devices] emulated device {}: {} floats that are not its memory", device, count));
}

void HostDeviceGroup::write(int device, float* to, std::span<const float> from) {
  need_memory_of(device, to, from.size());
  std::copy(from.begin(), from.end(), to);
}

void HostDeviceGroup::clear(int device, float* values, size_t count) {
  need_memory_of(device, values, count);
  std::fill_n(values, count, 0.0F);
}

void HostDeviceGroup::move(int from, const float* values, int to, float* target, size_t count) {
  need_memory_of(from, values, count);
  need_memory_of(to, target, count);
  std::copy_n(values, count, target);
}

void HostDeviceGroup::broadcast(std::span<float* const> buffers, size_t count) {
  LINAC_CHECK(buffers.size() == memories_.size());
  for (int device = 0; device < size(); ++device) {
    float* const to = buffers[static_cast<size_t>(device)];
    need_memory_of(device, to, count);
    if (device > 0) std::copy_n(buffers[0], count, to);
  }
}

void HostDeviceGroup::round(int device, float* values, size_t count, comm::Exchange exchange) {
  need_memory_of(device, values, count);
  comm::round_to(exchange, {values, count});
}

void HostDeviceGroup::add(int device, float* sum, const float* other, size_t count, comm::Exchange exchange) {
  need_memory_of(device, sum, count);
  need_memory_of(device, other, count);
  for (size_t i = 0; i < count; ++i) sum[i] += other[i];
  comm::round_to(exchange, {sum, count});
}

void HostDeviceGroup::read(int device, std::span<float> to, const float* from) {
  need_memory_of(device, from, to.size());
  std::copy_n(from, to.size(), to.begin());
}

}  // namespace linac::devices
