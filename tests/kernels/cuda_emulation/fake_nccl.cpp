// NCCL for the emulated GPUs: the calls that train/devices/nccl.h knows, carried out when a group of calls ends. As
// strict as the real one has to be: a send without its receive, another size at the other end, a broadcast that a
// member leaves out, or a buffer that is not of the communicator's GPU is an error of the group and carries nothing.
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

struct ncclComm {
  int device, rank;
  std::vector<ncclComm*>* all;
};

namespace {

constexpr int kSuccess = 0, kInternal = 3, kInvalidArgument = 4, kInvalidUsage = 5, kFloat = 7;

enum class Kind { kSend, kReceive, kBroadcast };
struct Call {
  Kind kind;
  ncclComm* comm;
  const void* from;
  void* to;
  size_t count;
  int peer;
  cudaStream_t stream;
};

int depth = 0;
std::vector<Call> calls;

bool of_gpu(const void* memory, int device) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, memory) == cudaSuccess && attributes.device == device;
}

int queue(const Call& call, int type) {
  int current = -1;
  cudaGetDevice(&current);
  if (depth == 0 || type != kFloat || call.comm == nullptr || current != call.comm->device) return kInvalidUsage;
  for (const void* memory : {call.from, const_cast<const void*>(call.to)})
    if (memory != nullptr && !of_gpu(memory, call.comm->device)) return kInvalidArgument;
  calls.push_back(call);
  return kSuccess;
}

int carry(const Call& to, const void* from) {
  return cudaMemcpyAsync(to.to, from, to.count * sizeof(float), cudaMemcpyDefault, to.stream) == cudaSuccess
             ? kSuccess
             : kInternal;
}

int receive(const Call& call, std::vector<Call>& sends) {
  const auto send = std::find_if(sends.begin(), sends.end(), [&](const Call& other) {
    return other.comm->rank == call.peer && other.peer == call.comm->rank && other.count == call.count;
  });
  if (send == sends.end()) return kInvalidUsage;
  cudaSetDevice(call.comm->device);
  const int status = carry(call, send->from);
  sends.erase(send);
  return status;
}

int broadcast(const std::vector<Call>& all) {
  if (all.empty()) return kSuccess;
  if (all.size() != all[0].comm->all->size()) return kInvalidUsage;
  for (const Call& root : all) {
    if (root.comm->rank != root.peer) continue;
    for (const Call& call : all) {
      if (call.count != root.count) return kInvalidUsage;
      cudaSetDevice(call.comm->device);
      if (const int status = call.to == root.from ? kSuccess : carry(call, root.from); status != kSuccess)
        return status;
    }
  }
  return kSuccess;
}

int carry_out() {
  std::vector<Call> sends, broadcasts;
  for (const Call& call : calls) {
    if (call.kind == Kind::kSend) sends.push_back(call);
    if (call.kind == Kind::kBroadcast) broadcasts.push_back(call);
  }
  int status = kSuccess;
  for (const Call& call : calls)
    if (call.kind == Kind::kReceive && status == kSuccess) status = receive(call, sends);
  if (status == kSuccess) status = sends.empty() ? broadcast(broadcasts) : kInvalidUsage;
  calls.clear();
  return status;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = 22809;
  return kSuccess;
}

int ncclCommInitAll(ncclComm** comms, int count, const int* devices) {
  int there = 0;
  cudaGetDeviceCount(&there);
  auto* const all = new std::vector<ncclComm*>;
  for (int rank = 0; rank < count; ++rank) {
    const bool twice = std::find(devices, devices + rank, devices[rank]) != devices + rank;
    if (twice || devices[rank] >= there) {
      for (ncclComm* comm : *all) delete comm;
      delete all;
      return kInvalidArgument;
    }
    all->push_back(comms[rank] = new ncclComm{devices[rank], rank, all});
  }
  return kSuccess;
}

int ncclCommAbort(ncclComm* comm) {
  auto* const all = comm->all;
  std::erase(*all, comm);
  if (all->empty()) delete all;
  delete comm;
  return kSuccess;
}
int ncclCommDestroy(ncclComm* comm) {
  return ncclCommAbort(comm);
}

int ncclGroupStart() {
  ++depth;
  return kSuccess;
}
int ncclGroupEnd() {
  if (depth == 0) return kInvalidUsage;
  return --depth > 0 ? kSuccess : carry_out();
}

int ncclSend(const void* from, size_t count, int type, int peer, ncclComm* comm, cudaStream_t stream) {
  return queue({Kind::kSend, comm, from, nullptr, count, peer, stream}, type);
}
int ncclRecv(void* to, size_t count, int type, int peer, ncclComm* comm, cudaStream_t stream) {
  return queue({Kind::kReceive, comm, nullptr, to, count, peer, stream}, type);
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, ncclComm* comm, cudaStream_t stream) {
  return queue({Kind::kBroadcast, comm, from, to, count, root, stream}, type);
}

const char* ncclGetErrorString(int status) {
  switch (status) {
    case kSuccess:
      return "no error";
    case kInvalidArgument:
      return "invalid argument";
    case kInvalidUsage:
      return "invalid usage";
  }
  return "internal error";
}
}
