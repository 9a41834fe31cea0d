// Kernels for the tests of the emulation, right ones and wrong ones. They are compiled as those of
// cuda/device are.
#include "cuda/device/kernel.cuh"

namespace {

/// Two buffers and a number: a struct as parameter.
struct Pair {
  const float* from[2];
  float factor;
  float* to;
  TOWERFLOW_POINTERS(from, to)
};

using Floats = float[256];
using Bytes = unsigned char[256];

TOWERFLOW_DEVICE long global_thread() {
  return static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace

TOWERFLOW_KERNEL(test_scale, 256, const float* x, float* y, float factor, long n) {
  const long i = global_thread();
  if (i < n) y[i] = x[i] * factor;
}

TOWERFLOW_KERNEL(test_scale_one_more, 256, const float* x, float* y, float factor, long n) {
  const long i = global_thread();
  if (i <= n) y[i] = x[i] * factor;
}

/// Reads one element more, and does not use it.
TOWERFLOW_KERNEL(test_read_one_more, 256, const float* x, float* y, long n) {
  const long i = global_thread();
  if (i < n) y[i] = x[i] + 0 * (i + 1 == n ? x[i + 1] : 0);
}

TOWERFLOW_KERNEL(test_pair, 256, Pair pair, long n) {
  const long i = global_thread();
  if (i < n) pair.to[i] = (pair.from[0][i] + pair.from[1][i]) * pair.factor;
}

TOWERFLOW_KERNEL(test_copy_at, 256, const unsigned char* x, float* y, int at) {
  if (global_thread() == 0) *y = *reinterpret_cast<const float*>(x + at);
}

TOWERFLOW_KERNEL(test_index, 1024, int* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  out[i] = static_cast<int>(i);
}

/// Appends the number of its block to a list, one thread a block.
TOWERFLOW_KERNEL(test_order, 32, int* list) {
  TOWERFLOW_SHARED_BY_THREADS(int)& length = *list;
  const int at = length;
  length = at + 1;
  list[1 + at] = static_cast<int>(blockIdx.x);
}

/// Threads write one element, or read what others write.
TOWERFLOW_KERNEL(test_race, 256, int* y, int reads) {
  const long i = global_thread();
  if (reads == 0) {
    y[i / 2] = static_cast<int>(i);
  } else {
    y[i + 1] = y[i] + 1;
  }
}

/// Each thread writes a byte, but one writes four bytes, which belong to others: the first thread
/// or the last.
TOWERFLOW_KERNEL(test_race_of_bytes, 256, int* y, int first) {
  const long i = global_thread();
  if (i == (first != 0 ? 0 : 255)) {
    y[1] = 1;
  } else {
    reinterpret_cast<char*>(y)[i] = 1;
  }
}

/// Threads write one element if they belong to different blocks.
TOWERFLOW_MEETING_KERNEL(test_race_of_blocks, 256, 0, int* y) {
  y[threadIdx.x % 2] = 1;
  __syncthreads();
}

TOWERFLOW_MEETING_KERNEL(test_block_sum, 256, sizeof(Floats), const float* x, float* sums, long n) {
  TOWERFLOW_SHARED(Floats, partial);
  const long i = global_thread();
  partial[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

/// The same without the barriers of the loop.
TOWERFLOW_MEETING_KERNEL(test_block_sum_race, 256, sizeof(Floats), const float* x, float* sums,
                         long n) {
  TOWERFLOW_SHARED(Floats, partial);
  const long i = global_thread();
  partial[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

TOWERFLOW_MEETING_KERNEL(test_warp_sum, 256, 0, const float* x, float* sums) {
  float sum = x[global_thread()];
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xffffffffU, sum, distance);
  }
  if (threadIdx.x % 32 == 0) sums[global_thread() / 32] = sum;
}

/// Writes what each kind of exchange gives.
TOWERFLOW_MEETING_KERNEL(test_exchanges, 32, 0, int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_sync(0xffffffffU, lane, 3, 8);
  out[32 + lane] = __shfl_up_sync(0xffffffffU, lane, 2);
  out[64 + lane] = __shfl_down_sync(0xffffffffU, lane, 2, 16);
  out[96 + lane] = __shfl_xor_sync(0xffffffffU, lane, 5);
  const double wide = __shfl_xor_sync(0xffffffffU, lane + 0.25, 1);
  out[128 + lane] = static_cast<int>(wide * 4);
  out[160 + lane] = static_cast<int>(__ballot_sync(0xffffffffU, lane % 3 == 0));
}

TOWERFLOW_MEETING_KERNEL(test_half_a_barrier, 64, 0, float* y) {
  if (threadIdx.x < 32) __syncthreads();
  y[threadIdx.x] = 1;
}

TOWERFLOW_MEETING_KERNEL(test_half_a_warp, 32, 0, int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffffffU, 1, 1);
}

/// Exchanges numbers of a warp through shared memory, with and without a meeting of the warp.
TOWERFLOW_MEETING_KERNEL(test_warp_memory, 64, sizeof(Floats), float* y, int meets) {
  TOWERFLOW_SHARED(Floats, numbers);
  numbers[threadIdx.x] = 0;
  __syncthreads();
  numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (meets != 0) __syncwarp();
  y[threadIdx.x] = numbers[threadIdx.x ^ 1];
}

/// Each thread writes one byte of a word of shared memory, which is no race.
TOWERFLOW_MEETING_KERNEL(test_bytes, 256, sizeof(Bytes), unsigned char* y) {
  TOWERFLOW_SHARED(Bytes, bytes);
  bytes[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = bytes[255 - threadIdx.x];
}

TOWERFLOW_MEETING_KERNEL(test_unwritten, 32, sizeof(Floats), float* y) {
  TOWERFLOW_SHARED(Floats, numbers);
  if (threadIdx.x > 0) numbers[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = numbers[threadIdx.x];
}

TOWERFLOW_MEETING_KERNEL(test_undeclared, 32, 16, float* y) {
  TOWERFLOW_SHARED(Floats, numbers);
  numbers[threadIdx.x] = 1;
  y[threadIdx.x] = numbers[threadIdx.x];
}

/// Shifts by one through dynamic shared memory of blockDim.x + extra floats.
TOWERFLOW_MEETING_KERNEL(test_dynamic, 256, 0, const float* x, float* y, int beyond) {
  TOWERFLOW_DYNAMIC_SHARED(float, numbers);
  numbers[threadIdx.x + static_cast<unsigned>(beyond)] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = numbers[(threadIdx.x + 1) % blockDim.x + static_cast<unsigned>(beyond)];
}

TOWERFLOW_KERNEL(test_barrier_unannounced, 32, float* y) {
  y[threadIdx.x] = 1;
  __syncthreads();
}
