// In place of the .cu files where linac is built without CUDA.
#include "linac/base/base/error.h"
#include "linac/model/kernels/cuda/conv3d.h"
#include "linac/model/kernels/cuda/device.h"
#include "linac/model/kernels/cuda/tree_sum.h"
#include "linac/model/kernels/cuda/upsample_conv.h"

namespace linac::kernels::cuda {
namespace {

[[noreturn]] void refuse() {
  throw environment_error(
      "[cuda] this linac was built without CUDA: configure with -DLINAC_CUDA=ON (needs the CUDA toolkit or "
      "LINAC_CUDA=1 "
      "deps/get.sh)");
}

}  // namespace

int device_count() {
  return 0;
}
void need_device() {
  refuse();
}
std::string device_name(int) {
  refuse();
}
void use_device(int) {
  refuse();
}
int device_in_use() {
  refuse();
}
void* make_stream() {
  refuse();
}
void end_stream(void*) noexcept {}
void wait_for(void*) {
  refuse();
}
void copy(float*, const float*, int64_t, void*) {
  refuse();
}
void clear(float*, int64_t, void*) {
  refuse();
}
float* allocate(int64_t) {
  refuse();
}
void release(float*) {
  refuse();
}
void copy_to_device(float*, const float*, int64_t) {
  refuse();
}
void copy_to_host(float*, const float*, int64_t) {
  refuse();
}

void add(float*, const float*, int64_t, Rounding, void*) {
  refuse();
}
void round_to_bfloat16(float*, int64_t, void*) {
  refuse();
}

bool conv3d_possible(const Conv3dShape&) {
  return false;
}
void conv3d_forward(const Conv3dShape&, int64_t, const float*, const float*, const float*, float, float*, void*) {
  refuse();
}
int64_t conv3d_workspace(const Conv3dShape&, int64_t) {
  refuse();
}
void conv3d_backward_data(const Conv3dShape&, int64_t, const float*, const float*, float*, float*, void*) {
  refuse();
}
void conv3d_backward_weights(const Conv3dShape&, int64_t, const float*, const float*, float*, float*, void*) {
  refuse();
}

bool upsample_conv3d_possible(const UpsampleShape&) {
  return false;
}
int64_t upsample_conv3d_workspace(const UpsampleShape&) {
  refuse();
}
void upsample_conv3d_forward(const UpsampleShape&, int64_t, const float*, const float*, const float*, float, float*,
                             float*, void*) {
  refuse();
}
void upsample_conv3d_backward_data(const UpsampleShape&, int64_t, const float*, const float*, float*, float*, void*) {
  refuse();
}
void upsample_conv3d_backward_weights(const UpsampleShape&, int64_t, const float*, const float*, float*, float*,
                                      void*) {
  refuse();
}

}  // namespace linac::kernels::cuda
