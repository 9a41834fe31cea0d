// NCCL for ranks that are devices of one process.
#include <cstring>

#include "cuda/host/coverage.h"
#include "cuda/host/libraries.h"
#include "cuda/host/library_handles.h"
#include "cuda/host/nccl_group.h"
#include "cuda/host/runtime.h"
#include "cuda/host/state.h"

namespace towerflow::cuda::host {
namespace {

/// A clique from its identifier on, until all ranks have joined.
struct Meeting {
  std::shared_ptr<NcclClique> clique;
  int joined = 0;
};

auto& ranks = *new LibraryHandles<ncclComm_t, NcclRank>;
std::mutex meetings_mutex;
std::map<std::uint64_t, Meeting> meetings;
std::uint64_t last_id = 0;

constexpr char kMark[] = "towerflow emulation";

ncclResult_t bad_argument(std::string text) {
  return nccl_error({ncclInvalidArgument, std::move(text)});
}

/// Returns the clique that an identifier stands for; the first rank makes it.
ncclResult_t find_clique(const ncclUniqueId& id, int size, std::shared_ptr<NcclClique>& clique) {
  std::uint64_t number = 0;
  std::memcpy(&number, id.internal + sizeof(kMark), sizeof(number));
  const std::lock_guard lock(meetings_mutex);
  const auto found = meetings.find(number);
  if (std::memcmp(id.internal, kMark, sizeof(kMark)) != 0 || found == meetings.end()) {
    return bad_argument("the identifier is not from this process, or all its ranks have joined");
  }
  Meeting& meeting = found->second;
  if (meeting.clique == nullptr) meeting.clique = std::make_shared<NcclClique>(size);
  if (meeting.clique->size() != size) {
    return nccl_error({ncclInvalidUsage, "ranks join with " + std::to_string(size) + " and with " +
                                             std::to_string(meeting.clique->size()) + " ranks"});
  }
  clique = meeting.clique;
  if (++meeting.joined == size) meetings.erase(found);
  return ncclSuccess;
}

/// The library allocates memory for a communicator, and so cannot make one during most captures.
ncclResult_t check_may_allocate() {
  void* memory = nullptr;
  if (host::cudaMalloc(&memory, 1) != cudaSuccess) {
    return nccl_error({ncclUnhandledCudaError, "cudaMalloc failed for the communicator"});
  }
  host::cudaFree(memory);
  return ncclSuccess;
}

/// Checks an address of one rank's memory.
ncclResult_t check_memory(const NcclRank& rank, const NcclCall& call, const void* at,
                          std::size_t bytes) {
  if (bytes == 0) return ncclSuccess;
  const std::string start = "rank " + std::to_string(rank.rank) + " gives " + call.text() + " ";
  if (at == nullptr) return bad_argument(start + "a null pointer");
  const Allocation* const found = state().memory.find(at);
  if (found == nullptr) return bad_argument(start + "memory that no device can access");
  if (found->kind == MemoryKind::device && found->device != rank.device) {
    return bad_argument(start + "memory of device " + std::to_string(found->device) +
                        ", but is on device " + std::to_string(rank.device));
  }
  return ncclSuccess;
}

ncclResult_t check(const NcclRank& rank, const NcclCall& call, cudaStream_t stream) {
  const int size = rank.clique->size();
  if (size_of(call.type) == 0) return bad_argument("the type is not emulated");
  if (call.reduction < ncclSum || call.reduction > ncclAvg) {
    return bad_argument("the reduction does not exist");
  }
  if (call.root < 0 || call.root >= size) {
    return bad_argument("rank " + std::to_string(call.root) + " does not exist");
  }
  if (rank.finalized) return nccl_error({ncclInvalidUsage, "the communicator is finalized"});
  const NcclError error = rank.clique->error();
  if (error.status != ncclSuccess) return nccl_error(error);
  ncclResult_t status = check_memory(rank, call, call.from, call.bytes_read(rank.rank, size));
  if (status == ncclSuccess) {
    status = check_memory(rank, call, call.to, call.bytes_written(rank.rank, size));
  }
  if (status != ncclSuccess) return status;
  if (call.overlaps(rank.rank, size)) {
    return bad_argument("what " + call.text() + " writes overlaps what it reads, not in place");
  }
  if (device_of(stream) != rank.device) {
    return bad_argument("the stream is not one of device " + std::to_string(rank.device));
  }
  return ncclSuccess;
}

ncclResult_t start(ncclComm_t comm, const NcclCall& call, cudaStream_t stream) {
  const auto rank = ranks.find(comm);
  if (rank == nullptr) return bad_argument("the communicator does not exist");
  const ncclResult_t status = check(*rank, call, stream);
  return status == ncclSuccess ? submit(rank, call, stream) : status;
}

using Kind = NcclCall::Kind;

}  // namespace

ncclComm_t add_rank(const NcclRankPtr& rank) { return ranks.add(rank); }

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return bad_argument("there is no place for the version");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* texts[] = {"no error",
                                   "unhandled cuda error",
                                   "unhandled system error",
                                   "internal error",
                                   "invalid argument",
                                   "invalid usage",
                                   "remote process exited or there was a network error",
                                   "NCCL operation in progress"};
  return result >= 0 && result < ncclNumResults ? texts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  thread_local std::string text;
  const auto rank = ranks.find(comm);
  text = rank == nullptr ? "" : rank->clique->error().text;
  if (text.empty()) text = last_nccl_error();
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return bad_argument("there is no place for the identifier");
  *id = {};
  const std::lock_guard lock(meetings_mutex);
  meetings[++last_id] = {};
  std::memcpy(id->internal, kMark, sizeof(kMark));
  std::memcpy(id->internal + sizeof(kMark), &last_id, sizeof(last_id));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  if (comm == nullptr || size < 1 || rank < 0 || rank >= size) {
    return bad_argument("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                        " does not exist, or there is no place for the communicator");
  }
  auto made = std::make_shared<NcclRank>();
  made->rank = rank;
  if (host::cudaGetDevice(&made->device) != cudaSuccess) {
    return nccl_error({ncclUnhandledCudaError, "cudaGetDevice failed"});
  }
  ncclResult_t status = check_may_allocate();
  if (status == ncclSuccess) status = find_clique(id, size, made->clique);
  return status == ncclSuccess ? join(made, comm) : status;
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  int available = 0;
  if (comms == nullptr || count < 1) return bad_argument("there are no communicators to make");
  if (host::cudaGetDeviceCount(&available) != cudaSuccess) {
    return nccl_error({ncclUnhandledCudaError, "cudaGetDeviceCount failed"});
  }
  if (const ncclResult_t status = check_may_allocate(); status != ncclSuccess) return status;
  const auto clique = std::make_shared<NcclClique>(count);
  ncclGroupStart();
  for (int i = 0; i < count; ++i) {
    const int device = devices == nullptr ? i : devices[i];
    if (device < 0 || device >= available) {
      bad_argument("device " + std::to_string(device) + " does not exist");
      break;
    }
    join(std::make_shared<NcclRank>(NcclRank{clique, i, device}), comms + i);
  }
  return host::ncclGroupEnd();
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const auto rank = ranks.find(comm);
  if (rank == nullptr) return bad_argument("the communicator does not exist");
  rank->finalized = true;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return comm == nullptr || ranks.remove(comm) ? ncclSuccess
                                               : bad_argument("the communicator does not exist");
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const auto rank = ranks.find(comm);
  if (rank == nullptr) return bad_argument("the communicator does not exist");
  rank->clique->abort(rank->rank);
  ranks.remove(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const auto rank = ranks.find(comm);
  if (rank == nullptr || error == nullptr) return bad_argument("the communicator does not exist");
  *error = rank->clique->error().status;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  const auto rank = ranks.find(comm);
  if (rank == nullptr || count == nullptr) return bad_argument("the communicator does not exist");
  *count = rank->clique->size();
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  const auto rank = ranks.find(comm);
  if (rank == nullptr || device == nullptr) return bad_argument("the communicator does not exist");
  *device = rank->device;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* number) {
  const auto rank = ranks.find(comm);
  if (rank == nullptr || number == nullptr) return bad_argument("the communicator does not exist");
  *number = rank->rank;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return start(comm, {Kind::all_reduce, count, type, reduction, 0, from, to}, stream);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t reduction, int root, ncclComm_t comm, cudaStream_t stream) {
  return start(comm, {Kind::reduce, count, type, reduction, root, from, to}, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return start(comm, {Kind::broadcast, count, type, ncclSum, root, from, to}, stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return start(comm, {Kind::all_gather, count, type, ncclSum, 0, from, to}, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return start(comm, {Kind::reduce_scatter, count, type, reduction, 0, from, to}, stream);
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return start(comm, {Kind::send, count, type, ncclSum, peer, from, nullptr}, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return start(comm, {Kind::receive, count, type, ncclSum, peer, nullptr, to}, stream);
}

void fill_nccl(Table& table) {
#define TOWERFLOW_ENTRY(name) table.name = &host::name;
  TOWERFLOW_CUDA_NCCL(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
  count_calls(table);
}

}  // namespace towerflow::cuda::host
