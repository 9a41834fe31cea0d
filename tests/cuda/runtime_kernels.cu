// Kernels for the tests of launches, graphs and order.
#include "cuda/device/kernel.cuh"

/// Adds a number in each thread, to an element of its own.
TOWERFLOW_KERNEL(runtime_test_add, 1024, int* values, int number) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  values[block * (blockDim.x * blockDim.y * blockDim.z) + thread] += number;
}

TOWERFLOW_KERNEL(runtime_test_multiply, 1024, int* values, int number) {
  values[threadIdx.x] *= number;
}

using Kilobyte = int[256];

TOWERFLOW_MEETING_KERNEL(runtime_test_bounded, 128, sizeof(Kilobyte), int* values, int number) {
  TOWERFLOW_SHARED(Kilobyte, numbers);
  numbers[threadIdx.x] = number;
  __syncthreads();
  values[threadIdx.x] += numbers[blockDim.x - 1 - threadIdx.x];
}

/// Writes 4 bytes past `count` values.
TOWERFLOW_KERNEL(runtime_test_past_end, 1024, int* values, int count) { values[count] = 1; }
