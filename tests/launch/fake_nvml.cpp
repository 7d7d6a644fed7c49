// In place of NVIDIA's library, which is only where its driver is: two GPUs, of which the second does not tell its
// power. The first one's counter of energy rises by 1000 J with each reading.

namespace {
int devices[2];
}

extern "C" {
int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned number, void** device) {
  if (number >= 2) return 2;
  *device = &devices[number];
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
  rates[0] = 75;
  rates[1] = 10;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 8ull << 30;
  memory[1] = 5ull << 30;
  memory[2] = 3ull << 30;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (device != &devices[0]) return 3;
  *milliwatts = 251500;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long told = 123456789;
  if (device != &devices[0]) return 3;
  *millijoules = told += 1000000;
  return 0;
}
}
