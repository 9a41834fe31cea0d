#pragma once

#include <memory>
#include <string>

#include "cuda/host/nccl_clique.h"

namespace towerflow::cuda::host {

/// One rank of a communicator: what a handle stands for.
struct NcclRank {
  std::shared_ptr<NcclClique> clique;
  int rank = 0, device = 0;
  bool finalized = false;
};
using NcclRankPtr = std::shared_ptr<NcclRank>;

/// Remembers an error for ncclGetLastError in this thread, and for the group that is open.
ncclResult_t nccl_error(NcclError error);
const std::string& last_nccl_error();

/// Makes a call at once, or at the end of the thread's group.
ncclResult_t submit(const NcclRankPtr& rank, const NcclCall& call, cudaStream_t stream);

/// Joins a communicator at once, or at the end of the thread's group, and then sets the handle.
ncclResult_t join(const NcclRankPtr& rank, ncclComm_t* handle);

/// Returns the handle of a rank that has joined.
ncclComm_t add_rank(const NcclRankPtr& rank);

/// Returns the device of a stream, -1 if there is no such stream.
int device_of(cudaStream_t stream);

}  // namespace towerflow::cuda::host
