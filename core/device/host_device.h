#pragma once

/// Marks functions that the kernels for CUDA (cuda/device) call as well as the library.
#if defined(__CUDACC__)
#define TOWERFLOW_HOST_DEVICE __host__ __device__
#else
#define TOWERFLOW_HOST_DEVICE
#endif
