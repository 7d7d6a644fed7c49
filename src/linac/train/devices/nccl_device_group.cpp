#include "linac/train/devices/nccl_device_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/base/base/error.h"
#include "linac/model/kernels/cuda/device.h"
#include "linac/model/kernels/cuda/tree_sum.h"

namespace linac::devices {

namespace cuda = kernels::cuda;

namespace {

// The calling thread's GPU for a while: LibTorch, which computes on the same threads, finds its own again.
class InUse {
 public:
  explicit InUse(int gpu) : before_(cuda::device_in_use()) { cuda::use_device(gpu); }
  ~InUse() {
    try {
      cuda::use_device(before_);
    } catch (const Error&) {  // it was in use before; what fails now fails again where somebody listens
    }
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  int before_;
};

int64_t number_of(size_t count) {
  return static_cast<int64_t>(count);
}

cuda::Rounding rounding_of(comm::Exchange exchange) {
  return exchange == comm::Exchange::kBfloat16 ? cuda::Rounding::kBfloat16 : cuda::Rounding::kNone;
}

}  // namespace

// On the device, with its name in what goes wrong.
template <class Work>
auto NcclDeviceGroup::on(int device, const Work& work) const {
  const Gpu& gpu = at(device);
  try {
    const InUse in_use(gpu.number);
    return work(gpu);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("[devices] GPU {} ({}): {}", gpu.number, gpu.name, error.what()));
  }
}

void NcclDeviceGroup::need(int status, const char* what) const {
  if (status == Nccl::kSuccess) return;
  std::vector<std::string> all;
  for (const Gpu& gpu : gpus_) all.push_back(fmt::format("{} ({})", gpu.number, gpu.name));
  throw environment_error(fmt::format("[devices] NCCL {}, GPUs {}: {}: {}; NCCL_DEBUG=WARN says more", nccl_->version(),
                                      fmt::join(all, ", "), what, nccl_->error_string(status)));
}

NcclDeviceGroup::NcclDeviceGroup(const std::vector<int>& gpus, const std::string& library) {
  LINAC_CHECK(!gpus.empty());
  for (const int number : gpus) gpus_.push_back({.number = number});
  try {
    for (Gpu& gpu : gpus_) {
      const int device = static_cast<int>(&gpu - gpus_.data());
      on(device, [&](const Gpu&) {
        gpu.name = cuda::device_name(gpu.number);
        gpu.work = cuda::make_stream();
        gpu.bring = cuda::make_stream();
      });
    }
    if (gpus_.size() > 1) {
      nccl_.emplace(library);
      std::vector<Nccl::Communicator> communicators(gpus_.size());
      need(nccl_->comm_init_all(communicators.data(), size(), gpus.data()), "making a group");
      for (size_t i = 0; i < gpus_.size(); ++i) gpus_[i].communicator = communicators[i];
    }
  } catch (...) {
    end();
    throw;
  }
}

NcclDeviceGroup::~NcclDeviceGroup() {
  end();
}

void NcclDeviceGroup::end() noexcept {
  for (const Gpu& gpu : gpus_) {
    // Not comm_destroy, which would wait for what a GPU that failed never does.
    if (gpu.communicator != nullptr) nccl_->comm_abort(gpu.communicator);
    if (gpu.work != nullptr) cuda::end_stream(gpu.work);
    if (gpu.bring != nullptr) cuda::end_stream(gpu.bring);
  }
}

std::string NcclDeviceGroup::describe() const {
  std::vector<std::string> all;
  for (const Gpu& gpu : gpus_) all.push_back(fmt::format("{} ({})", gpu.number, gpu.name));
  return fmt::format("GPUs {}{}", fmt::join(all, ", "), nccl_ ? ", NCCL " + nccl_->version() : "");
}

float* NcclDeviceGroup::allocate(int device, size_t floats) {
  return on(device, [&](const Gpu&) { return cuda::allocate(number_of(floats)); });
}

void NcclDeviceGroup::release(int device, float* values) noexcept {
  try {
    on(device, [&](const Gpu&) { cuda::release(values); });
  } catch (const std::exception&) {  // of a GPU that failed
  }
}

void NcclDeviceGroup::write(int device, float* to, std::span<const float> from) {
  on(device, [&](const Gpu& gpu) {
    cuda::copy(to, from.data(), number_of(from.size()), gpu.bring);
    cuda::wait_for(gpu.bring);
  });
}

void NcclDeviceGroup::clear(int device, float* values, size_t count) {
  on(device, [&](const Gpu& gpu) { cuda::clear(values, number_of(count), gpu.work); });
}

// Calls that NCCL begins together, once all are known: one of them alone would wait for the others.
void NcclDeviceGroup::together(const char* what, const std::function<int()>& calls) {
  need(nccl_->group_start(), what);
  int status = Nccl::kSuccess;
  try {
    status = calls();
  } catch (...) {
    nccl_->group_end();
    throw;
  }
  const int ended = nccl_->group_end();
  need(status, what);
  need(ended, what);
}

void NcclDeviceGroup::move(int from, const float* values, int to, float* target, size_t count) {
  together("moving", [&] {
    const int sent = on(
        from, [&](const Gpu& gpu) { return nccl_->send(values, count, Nccl::kFloat, to, gpu.communicator, gpu.work); });
    const int received = on(to, [&](const Gpu& gpu) {
      return nccl_->receive(target, count, Nccl::kFloat, from, gpu.communicator, gpu.work);
    });
    return sent != Nccl::kSuccess ? sent : received;
  });
}

void NcclDeviceGroup::broadcast(std::span<float* const> buffers, size_t count) {
  LINAC_CHECK(buffers.size() == gpus_.size());
  if (!nccl_) return;
  together("broadcasting", [&] {
    int first_error = Nccl::kSuccess;
    for (int device = 0; device < size(); ++device) {
      float* const buffer = buffers[static_cast<size_t>(device)];
      const int status = on(device, [&](const Gpu& gpu) {
        return nccl_->broadcast(buffer, buffer, count, Nccl::kFloat, 0, gpu.communicator, gpu.work);
      });
      if (first_error == Nccl::kSuccess) first_error = status;
    }
    return first_error;
  });
}

void NcclDeviceGroup::round(int device, float* values, size_t count, comm::Exchange exchange) {
  if (exchange == comm::Exchange::kFloat) return;
  on(device, [&](const Gpu& gpu) { cuda::round_to_bfloat16(values, number_of(count), gpu.work); });
}

void NcclDeviceGroup::add(int device, float* sum, const float* other, size_t count, comm::Exchange exchange) {
  on(device, [&](const Gpu& gpu) { cuda::add(sum, other, number_of(count), rounding_of(exchange), gpu.work); });
}

void NcclDeviceGroup::read(int device, std::span<float> to, const float* from) {
  on(device, [&](const Gpu& gpu) {
    cuda::copy(to.data(), from, number_of(to.size()), gpu.work);
    cuda::wait_for(gpu.work);
  });
}

void NcclDeviceGroup::wait() {
  for (int device = 0; device < size(); ++device) on(device, [](const Gpu& gpu) { cuda::wait_for(gpu.work); });
}

std::shared_ptr<DeviceGroup> make_nccl_group(const std::vector<int>& gpus) {
  return std::make_shared<NcclDeviceGroup>(gpus);
}

}  // namespace linac::devices
