// The emulated GPU itself: kernels that do what they may are computed, and each fault that it looks for is found.
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <cmath>
#include <string>
#include <vector>

namespace linac::cuda_emulation {
namespace {

constexpr int kThreads = 64;

class Floats {
 public:
  explicit Floats(int count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), cudaSuccess);
  }
  explicit Floats(const std::vector<float>& values) : Floats(static_cast<int>(values.size())) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  Floats(const Floats&) = delete;
  ~Floats() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }

  float* data() const { return data_; }
  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(float); }
  std::vector<float> values() const {
    std::vector<float> values(static_cast<size_t>(count_));
    EXPECT_EQ(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  int count_;
  float* data_ = nullptr;
};

std::vector<float> numbers(int count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i);
  return values;
}

// What the launch before did wrong; empty: nothing.
std::string fault_of_launch() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

void expect_fault(const std::string& words) {
  const std::string fault = fault_of_launch();
  EXPECT_NE(fault.find(words), std::string::npos) << "instead: " << (fault.empty() ? "no fault" : fault);
}

// Blocks turn their part round; with an int that no thread has.
template <int kCount>
__global__ void __launch_bounds__(kCount) turn(const float* in, float* out, int add) {
  __shared__ float part[kCount];
  extern __shared__ float4 more[];
  const int i = static_cast<int>(threadIdx.x + blockDim.x * threadIdx.y), first = static_cast<int>(blockIdx.x) * kCount;
  reinterpret_cast<float*>(more)[i] = static_cast<float>(add);
  part[i] = in[first + i];
  __syncthreads();
  const float sum = part[kCount - 1 - i] + reinterpret_cast<float*>(more)[kCount - 1 - i];
  out[first + i] = sum;
}

void expect_turned() {
  const Floats in(numbers(3 * kThreads)), out(3 * kThreads);
  turn<kThreads><<<3, dim3(kThreads / 4, 4), kThreads * sizeof(float), nullptr>>>(in.data(), out.data(), 5);
  ASSERT_EQ(fault_of_launch(), "");
  const std::vector<float> values = out.values();
  for (int block = 0; block < 3; ++block)
    for (int i = 0; i < kThreads; ++i)
      EXPECT_EQ(values[static_cast<size_t>(block * kThreads + i)],
                static_cast<float>(block * kThreads + kThreads + 4 - i));
}

TEST(EmulatedGpu, ComputesWhatAKernelSays) {
  expect_turned();
}

__global__ void read_at(const float* in, float* out, int i) {
  out[threadIdx.x] = in[i];
}
__global__ void write_at(float* out, int i) {
  if (threadIdx.x == 3) out[i] = 1;
}

TEST(EmulatedGpu, FindsAccessesOutsideOfAllocations) {
  const Floats in(numbers(100)), out(kThreads);
  read_at<<<1, kThreads>>>(in.data(), out.data(), 99);
  EXPECT_EQ(fault_of_launch(), "");
  read_at<<<1, kThreads>>>(in.data(), out.data(), 100);
  expect_fault("read_at, block (0, 0, 0), thread 0: reads 4 bytes outside of any allocation");
  read_at<<<1, kThreads>>>(in.data(), out.data(), -1);
  expect_fault("outside of any allocation");
  write_at<<<1, kThreads>>>(out.data(), kThreads);
  expect_fault("write_at, block (0, 0, 0), thread 3: writes 4 bytes outside of any allocation");
  write_at<<<1, kThreads>>>(out.data(), -1);
  expect_fault("outside of any allocation");
}

TEST(EmulatedGpu, FindsMemoryThatWasReleasedAndTheProcessors) {
  const Floats out(kThreads);
  float* released = nullptr;
  {
    const Floats in(numbers(4));
    released = in.data();
  }
  read_at<<<1, kThreads>>>(released, out.data(), 0);
  expect_fault("outside of any allocation");
  const std::vector<float> here(4);
  read_at<<<1, kThreads>>>(here.data(), out.data(), 0);
  expect_fault("uses 4 bytes outside of the device");
  EXPECT_EQ(cudaFree(released), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(EmulatedGpu, FindsMemoryThatNobodyHasWritten) {
  const Floats in(4), out(kThreads);
  read_at<<<1, kThreads>>>(in.data(), out.data(), 0);
  expect_fault("reads 4 bytes of the device's memory that nobody has written");
  EXPECT_TRUE(std::isnan(in.values()[0]));
}

// Threads beyond `written` and blocks beyond the first leave their word as it is.
__global__ void leave_shared(float* out, unsigned written) {
  __shared__ float part[kThreads];
  if (blockIdx.x == 0 && threadIdx.x < written) part[threadIdx.x] = 1;
  out[blockIdx.x * blockDim.x + threadIdx.x] = part[threadIdx.x];
}
__global__ void leave_dynamic(float* out) {
  extern __shared__ float part[];
  if (blockIdx.x == 0) part[threadIdx.x] = 1;
  out[blockIdx.x * blockDim.x + threadIdx.x] = part[threadIdx.x];
}

TEST(EmulatedGpu, FindsSharedMemoryThatTheBlockHasNotWritten) {
  const Floats out(2 * kThreads);
  leave_shared<<<1, kThreads>>>(out.data(), kThreads);
  EXPECT_EQ(fault_of_launch(), "");
  leave_shared<<<1, kThreads>>>(out.data(), 10);
  expect_fault("thread 10: reads 4 bytes of shared memory that nobody has written");
  leave_shared<<<2, kThreads>>>(out.data(), kThreads);
  expect_fault("block (1, 0, 0), thread 0: reads 4 bytes of shared memory that nobody has written");
  leave_dynamic<<<2, kThreads, kThreads * sizeof(float)>>>(out.data());
  expect_fault("block (1, 0, 0), thread 0: reads 4 bytes of shared memory that nobody has written");
}

__global__ void beyond_dynamic() {
  extern __shared__ float part[];
  part[threadIdx.x] = 1;
}
__global__ void beyond_shared(int i) {
  __shared__ float part[kThreads];
  float* const any = part;
  any[i] = 1;
}

TEST(EmulatedGpu, FindsAccessesBeyondSharedMemory) {
  beyond_dynamic<<<1, kThreads, kThreads * sizeof(float)>>>();
  EXPECT_EQ(fault_of_launch(), "");
  beyond_dynamic<<<1, kThreads, (kThreads - 1) * sizeof(float)>>>();
  expect_fault("thread 63: writes 4 bytes outside of any allocation");
  beyond_shared<<<1, 1>>>(kThreads);
  expect_fault("writes 4 bytes outside of any allocation");
  beyond_shared<<<1, 1>>>(-1);
  expect_fault("writes 4 bytes outside of any allocation");
}

__global__ void two_barriers() {
  if (threadIdx.x < 5)
    __syncthreads();
  else
    __syncthreads();
}
__global__ void left_barrier(unsigned ends) {
  __syncthreads();
  if (threadIdx.x == ends) return;
  __syncthreads();
}

TEST(EmulatedGpu, FindsBarriersThatNotAllThreadsReach) {
  two_barriers<<<1, kThreads>>>();
  expect_fault("deadlock: thread 0 waits at the barrier of faults_test.cu:");
  two_barriers<<<1, 5>>>();
  EXPECT_EQ(fault_of_launch(), "");
  left_barrier<<<1, kThreads>>>(7);
  expect_fault(", thread 7 has ended");
  left_barrier<<<1, kThreads>>>(0);
  expect_fault("deadlock: thread 1 waits");
  left_barrier<<<1, kThreads>>>(kThreads);
  EXPECT_EQ(fault_of_launch(), "");
}

__global__ void read_four(const float* in, float* out, int i) {
  const float4 four = *reinterpret_cast<const float4*>(in + i);
  out[threadIdx.x] = four.x + four.w;
}
__global__ void read_pair_of_shared(float* out) {
  __shared__ float row[4];
  row[0] = row[1] = 1;
  const float2 two = *reinterpret_cast<const float2*>(row);  // row is aligned as a float is, by its declaration
  *out = two.x + two.y;
}
__global__ void read_aligned_pair(float* out) {
  __shared__ __align__(8) float row[4];
  row[0] = row[1] = 1;
  const float2 two = *reinterpret_cast<const float2*>(row);
  *out = two.x + two.y;
}

TEST(EmulatedGpu, FindsMisalignedVectors) {
  const Floats in(numbers(16)), out(kThreads);
  read_four<<<1, kThreads>>>(in.data(), out.data(), 4);
  EXPECT_EQ(fault_of_launch(), "");
  EXPECT_EQ(out.values()[0], 4 + 7);
  read_four<<<1, kThreads>>>(in.data(), out.data(), 6);
  expect_fault("a misaligned address");
  read_pair_of_shared<<<1, 1>>>(out.data());
  expect_fault("a misaligned address");
  read_aligned_pair<<<1, 1>>>(out.data());
  EXPECT_EQ(fault_of_launch(), "");
}

__global__ void beyond_registers(float* out, int i, int big) {
  float row[4] = {};
  row[i] = 1;
  out[0] = row[0] + static_cast<float>(big + i);
}

TEST(EmulatedGpu, FindsIndicesAndSumsBeyondTheirRange) {
  const Floats out(1);
  beyond_registers<<<1, 1>>>(out.data(), 3, INT32_MAX - 3);
  EXPECT_EQ(fault_of_launch(), "");
  beyond_registers<<<1, 1>>>(out.data(), 4, 0);
  expect_fault("an index beyond the array");
  beyond_registers<<<1, 1>>>(out.data(), 3, INT32_MAX);
  expect_fault("a sum beyond its type");
}

__global__ void read_after_write(float* out) {
  __shared__ float part[kThreads];
  part[threadIdx.x] = 1;
  out[threadIdx.x] = part[threadIdx.x / 2];  // written before, if the threads run in their order
}
__global__ void write_after_read(float* out) {
  __shared__ float part[kThreads];
  part[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = part[(threadIdx.x + 1) % blockDim.x];
  part[threadIdx.x] = 2;
}
__global__ void write_one_word(float* out) {
  *out = 1;
}
__global__ void between_blocks(float* out, bool reads) {
  if (!reads)
    *out = 1;
  else if (blockIdx.x == 0)
    out[0] = 1;
  else
    out[1] = out[0];
}
__global__ void write_what_another_reads(float* out) {
  if (blockIdx.x == 0)
    out[1] = out[0];
  else
    out[0] = 1;
}

TEST(EmulatedGpu, FindsRacesInABlock) {
  const Floats out(kThreads);
  read_after_write<<<1, kThreads>>>(out.data());
  expect_fault("thread 1: a race: reads 4 bytes of shared memory that thread 0 writes");
  write_after_read<<<1, kThreads>>>(out.data());
  expect_fault(" writes 4 bytes of shared memory that thread 0 reads");
  write_one_word<<<1, 2>>>(out.data());
  expect_fault("thread 1: a race: writes 4 bytes of the device's memory that thread 0 writes");
}

TEST(EmulatedGpu, FindsRacesBetweenBlocks) {
  const Floats out(numbers(2));
  between_blocks<<<2, 1>>>(out.data(), false);
  expect_fault("block (1, 0, 0), thread 0: a race: writes 4 bytes of the device's memory that another block uses");
  between_blocks<<<2, 1>>>(out.data(), true);
  expect_fault("a race: reads 4 bytes of the device's memory that another block writes");
  write_what_another_reads<<<2, 1>>>(out.data());
  expect_fault("a race: writes 4 bytes of the device's memory that another block uses");
  for (int launch = 0; launch < 2; ++launch) write_one_word<<<1, 1>>>(out.data());  // one after the other
  EXPECT_EQ(fault_of_launch(), "");
}

__global__ void much_shared() {
  __shared__ float first[8 * 1024];
  __shared__ float second[8 * 1024];
  first[0] = second[0] = 1;
}

TEST(EmulatedGpu, RefusesLaunchesThatAGpuRefuses) {
  const Floats out(2 * kThreads);
  turn<kThreads><<<1, 2 * kThreads, 0>>>(out.data(), out.data(), 0);
  expect_fault("128 threads in a block, but __launch_bounds__");
  write_one_word<<<0, 1>>>(out.data());
  expect_fault("invalid configuration");
  write_one_word<<<1, 1025>>>(out.data());
  expect_fault("invalid configuration");
  write_one_word<<<dim3(1, 1, 65536), 1>>>(out.data());
  expect_fault("invalid configuration");
  write_one_word<<<1, 1, 48 * 1024 + 1>>>(out.data());
  expect_fault("invalid argument");
  much_shared<<<1, 1>>>();
  expect_fault("more shared memory than there is");
}

TEST(EmulatedGpu, TellsOfAFaultWhereNobodyAsked) {
  const Floats out(1);
  write_one_word<<<1, 2>>>(out.data());
  float value = 0;
  EXPECT_EQ(cudaMemcpy(&value, out.data(), sizeof value, cudaMemcpyDeviceToHost), cudaErrorLaunchFailure);
  expect_fault("a race");
  EXPECT_EQ(cudaMemcpy(&value, out.data() + 1, sizeof value, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(EmulatedGpu, WorksOnAfterAFault) {
  for (int i = 0; i < 3; ++i) {
    left_barrier<<<2, kThreads>>>(7);
    expect_fault("deadlock");
    expect_turned();
  }
}

using EmulatedGpuDeathTest = testing::Test;

TEST(EmulatedGpuDeathTest, TheProcessorMayNotTouchTheDevicesMemory) {
  const Floats in(numbers(4));
  volatile float* const data = in.data();
  EXPECT_DEATH({ data[0] = 1; }, "emulated GPU: the processor uses memory of the device");
}

}  // namespace
}  // namespace linac::cuda_emulation
