#pragma once

// The calls that Towerflow makes of NVIDIA's libraries, each named once. Everything about an entry
// follows from its name: its type, the symbol in the library, its line in a log.

#define TOWERFLOW_CUDA_RUNTIME(ENTRY)                  \
  /* versions and errors */                            \
  ENTRY(cudaDriverGetVersion)                          \
  ENTRY(cudaRuntimeGetVersion)                         \
  ENTRY(cudaGetLastError)                              \
  ENTRY(cudaGetErrorName)                              \
  ENTRY(cudaGetErrorString)                            \
  /* devices */                                        \
  ENTRY(cudaGetDeviceCount)                            \
  ENTRY(cudaGetDeviceProperties)                       \
  ENTRY(cudaSetDevice)                                 \
  ENTRY(cudaGetDevice)                                 \
  ENTRY(cudaDeviceCanAccessPeer)                       \
  ENTRY(cudaDeviceEnablePeerAccess)                    \
  ENTRY(cudaDeviceDisablePeerAccess)                   \
  ENTRY(cudaDeviceSynchronize)                         \
  /* memory */                                         \
  ENTRY(cudaMemGetInfo)                                \
  ENTRY(cudaMalloc)                                    \
  ENTRY(cudaFree)                                      \
  ENTRY(cudaHostAlloc)                                 \
  ENTRY(cudaFreeHost)                                  \
  ENTRY(cudaHostRegister)                              \
  ENTRY(cudaHostUnregister)                            \
  ENTRY(cudaMemcpyAsync)                               \
  ENTRY(cudaMemcpyPeerAsync)                           \
  ENTRY(cudaMemsetAsync)                               \
  /* streams */                                        \
  ENTRY(cudaStreamCreateWithFlags)                     \
  ENTRY(cudaStreamCreateWithPriority)                  \
  ENTRY(cudaDeviceGetStreamPriorityRange)              \
  ENTRY(cudaStreamDestroy)                             \
  ENTRY(cudaStreamSynchronize)                         \
  ENTRY(cudaStreamQuery)                               \
  ENTRY(cudaStreamWaitEvent)                           \
  ENTRY(cudaLaunchHostFunc)                            \
  /* events */                                         \
  ENTRY(cudaEventCreateWithFlags)                      \
  ENTRY(cudaEventDestroy)                              \
  ENTRY(cudaEventRecord)                               \
  ENTRY(cudaEventRecordWithFlags)                      \
  ENTRY(cudaEventQuery)                                \
  ENTRY(cudaEventSynchronize)                          \
  ENTRY(cudaEventElapsedTime)                          \
  /* kernels */                                        \
  ENTRY(cudaLibraryLoadData)                           \
  ENTRY(cudaLibraryUnload)                             \
  ENTRY(cudaLibraryGetKernel)                          \
  ENTRY(cudaFuncSetAttribute)                          \
  ENTRY(cudaFuncGetAttributes)                         \
  ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor) \
  ENTRY(cudaLaunchKernelExC)                           \
  /* capture and graphs */                             \
  ENTRY(cudaStreamBeginCapture)                        \
  ENTRY(cudaStreamEndCapture)                          \
  ENTRY(cudaStreamIsCapturing)                         \
  ENTRY(cudaGraphGetNodes)                             \
  ENTRY(cudaGraphNodeGetType)                          \
  ENTRY(cudaGraphInstantiate)                          \
  ENTRY(cudaGraphUpload)                               \
  ENTRY(cudaGraphLaunch)                               \
  ENTRY(cudaGraphExecUpdate)                           \
  ENTRY(cudaGraphExecKernelNodeSetParams)              \
  ENTRY(cudaGraphExecMemcpyNodeSetParams1D)            \
  ENTRY(cudaGraphExecMemsetNodeSetParams)              \
  ENTRY(cudaGraphExecHostNodeSetParams)                \
  ENTRY(cudaGraphExecDestroy)                          \
  ENTRY(cudaGraphDestroy)

#define TOWERFLOW_CUDA_CUBLASLT(ENTRY)        \
  ENTRY(cublasLtGetVersion)                   \
  ENTRY(cublasLtGetStatusName)                \
  ENTRY(cublasLtGetStatusString)              \
  ENTRY(cublasLtCreate)                       \
  ENTRY(cublasLtDestroy)                      \
  ENTRY(cublasLtMatmulDescCreate)             \
  ENTRY(cublasLtMatmulDescSetAttribute)       \
  ENTRY(cublasLtMatmulDescGetAttribute)       \
  ENTRY(cublasLtMatmulDescDestroy)            \
  ENTRY(cublasLtMatrixLayoutCreate)           \
  ENTRY(cublasLtMatrixLayoutSetAttribute)     \
  ENTRY(cublasLtMatrixLayoutGetAttribute)     \
  ENTRY(cublasLtMatrixLayoutDestroy)          \
  ENTRY(cublasLtMatmulPreferenceCreate)       \
  ENTRY(cublasLtMatmulPreferenceSetAttribute) \
  ENTRY(cublasLtMatmulPreferenceDestroy)      \
  ENTRY(cublasLtMatmulAlgoGetHeuristic)       \
  ENTRY(cublasLtMatmul)

#define TOWERFLOW_CUDA_CUDNN(ENTRY)    \
  ENTRY(cudnnGetVersion)               \
  ENTRY(cudnnGetErrorString)           \
  ENTRY(cudnnGetLastErrorString)       \
  ENTRY(cudnnCreate)                   \
  ENTRY(cudnnDestroy)                  \
  ENTRY(cudnnSetStream)                \
  ENTRY(cudnnBackendCreateDescriptor)  \
  ENTRY(cudnnBackendDestroyDescriptor) \
  ENTRY(cudnnBackendSetAttribute)      \
  ENTRY(cudnnBackendGetAttribute)      \
  ENTRY(cudnnBackendFinalize)          \
  ENTRY(cudnnBackendExecute)           \
  /* layers that are no graph */       \
  ENTRY(cudnnCreateTensorDescriptor)   \
  ENTRY(cudnnSetTensorNdDescriptor)    \
  ENTRY(cudnnDestroyTensorDescriptor)  \
  ENTRY(cudnnCreateLRNDescriptor)      \
  ENTRY(cudnnSetLRNDescriptor)         \
  ENTRY(cudnnDestroyLRNDescriptor)     \
  ENTRY(cudnnLRNCrossChannelForward)   \
  ENTRY(cudnnLRNCrossChannelBackward)  \
  ENTRY(cudnnSoftmaxForward)           \
  ENTRY(cudnnSoftmaxBackward)

#define TOWERFLOW_CUDA_NCCL(ENTRY) \
  ENTRY(ncclGetVersion)            \
  ENTRY(ncclGetErrorString)        \
  ENTRY(ncclGetLastError)          \
  ENTRY(ncclGetUniqueId)           \
  ENTRY(ncclCommInitRank)          \
  ENTRY(ncclCommInitAll)           \
  ENTRY(ncclCommFinalize)          \
  ENTRY(ncclCommDestroy)           \
  ENTRY(ncclCommAbort)             \
  ENTRY(ncclCommGetAsyncError)     \
  ENTRY(ncclCommCount)             \
  ENTRY(ncclCommCuDevice)          \
  ENTRY(ncclCommUserRank)          \
  ENTRY(ncclGroupStart)            \
  ENTRY(ncclGroupEnd)              \
  ENTRY(ncclAllReduce)             \
  ENTRY(ncclReduce)                \
  ENTRY(ncclBroadcast)             \
  ENTRY(ncclAllGather)             \
  ENTRY(ncclReduceScatter)         \
  ENTRY(ncclSend)                  \
  ENTRY(ncclRecv)

#define TOWERFLOW_CUDA_NVRTC(ENTRY) \
  ENTRY(nvrtcVersion)               \
  ENTRY(nvrtcGetErrorString)        \
  ENTRY(nvrtcCreateProgram)         \
  ENTRY(nvrtcDestroyProgram)        \
  ENTRY(nvrtcCompileProgram)        \
  ENTRY(nvrtcGetProgramLogSize)     \
  ENTRY(nvrtcGetProgramLog)         \
  ENTRY(nvrtcGetPTXSize)            \
  ENTRY(nvrtcGetPTX)                \
  ENTRY(nvrtcGetCUBINSize)          \
  ENTRY(nvrtcGetCUBIN)

#define TOWERFLOW_CUDA_ENTRIES(ENTRY) \
  TOWERFLOW_CUDA_RUNTIME(ENTRY)       \
  TOWERFLOW_CUDA_CUBLASLT(ENTRY)      \
  TOWERFLOW_CUDA_CUDNN(ENTRY)         \
  TOWERFLOW_CUDA_NCCL(ENTRY)          \
  TOWERFLOW_CUDA_NVRTC(ENTRY)
