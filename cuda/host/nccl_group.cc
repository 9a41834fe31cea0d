// Groups of NCCL's calls: what a thread calls between ncclGroupStart and ncclGroupEnd happens at
// once at the end, so that no call waits for a later one.
#include "cuda/host/nccl_group.h"

#include <algorithm>
#include <utility>

#include "cuda/host/call.h"
#include "cuda/host/libraries.h"
#include "cuda/host/runtime.h"
#include "cuda/host/strided.h"

namespace towerflow::cuda::host {
namespace {

struct PendingCall {
  NcclRankPtr rank;
  NcclCall call;
  cudaStream_t stream = nullptr;
};
struct PendingJoin {
  NcclRankPtr rank;
  ncclComm_t* handle = nullptr;
};

struct Group {
  int depth = 0;
  std::vector<PendingCall> calls;
  std::vector<PendingJoin> joins;
  ncclResult_t status = ncclSuccess;
};
thread_local Group group;
thread_local std::string last_error;
std::atomic<std::uint64_t> groups{0};

std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t number = ++threads;
  return number;
}

/// A call that has its place, as the work of a stream brings it there.
struct PlacedCall {
  NcclRankPtr rank;
  NcclCall call;
  NcclPlace place;
};

/// Turns the addresses of a call into the host's.
cudaError_t resolve(const NcclRank& rank, NcclCall& call) {
  const int ranks = rank.clique->size();
  const std::size_t element = size_of(call.type);
  const std::size_t read = call.bytes_read(rank.rank, ranks);
  const std::size_t written = call.bytes_written(rank.rank, ranks);
  for (const auto& [at, bytes] : {std::pair<const void*, std::size_t>{call.from, read},
                                  std::pair<const void*, std::size_t>{call.to, written}}) {
    const cudaError_t status = check_access(at, bytes, element);
    if (status != cudaSuccess) return status;
  }
  call.from = read != 0 ? host_address(call.from) : nullptr;
  call.to = written != 0 ? host_address(call.to) : nullptr;
  return cudaSuccess;
}

/// The work of a stream: all its calls of one group come to their places before any waits.
cudaError_t run(const std::vector<PlacedCall>& placed, std::uint64_t number) {
  std::vector<NcclCall> calls;
  for (const PlacedCall& one : placed) {
    calls.push_back(one.call);
    const cudaError_t status = resolve(*one.rank, calls.back());
    if (status == cudaSuccess) continue;
    one.rank->clique->fail({ncclUnhandledCudaError, "rank " + std::to_string(one.rank->rank) +
                                                        " gives " + one.call.text() +
                                                        " memory that a kernel cannot access"});
    return status;
  }
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const PlacedCall& one = placed[i];
    one.rank->clique->arrive(one.rank->rank, calls[i], one.place, number);
  }
  cudaError_t status = cudaSuccess;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const PlacedCall& one = placed[i];
    const cudaError_t ended = one.rank->clique->wait(one.rank->rank, calls[i], one.place, number);
    if (status == cudaSuccess) status = ended;
  }
  return status;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return host::cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

ncclResult_t launch(const std::vector<PendingCall>& calls) {
  const std::uint64_t number = ++groups;
  std::vector<std::pair<cudaStream_t, std::vector<PlacedCall>>> streams;  // in the order of calls
  for (const PendingCall& pending : calls) {
    NcclPlace place;
    const NcclIssue how{number, thread_number(), is_captured(pending.stream)};
    auto error = pending.rank->clique->issue(pending.rank->rank, pending.call, how, place);
    if (error) {
      // On cards all ranks would hang; here they learn of it.
      pending.rank->clique->fail(*error);
      return nccl_error(std::move(*error));
    }
    if (streams.empty() || streams.back().first != pending.stream) {
      const auto found = std::find_if(streams.begin(), streams.end(),
                                      [&](const auto& one) { return one.first == pending.stream; });
      if (found == streams.end()) {
        streams.push_back({pending.stream, {}});
      } else {
        std::rotate(found, found + 1, streams.end());
      }
    }
    streams.back().second.push_back({pending.rank, pending.call, place});
  }
  for (auto& [stream, placed] : streams) {
    Work work{placed.size() == 1 ? placed[0].call.name() : "ncclGroup", {}, {}};
    for (const PlacedCall& one : placed) {
      const auto operands = one.call.operands(one.rank->rank, one.rank->clique->size());
      work.operands.insert(work.operands.end(), operands.begin(), operands.end());
    }
    const auto runs = std::make_shared<std::atomic<std::uint64_t>>(0);
    work.run = [placed = std::move(placed), runs] { return run(placed, (*runs)++); };
    if (enqueue(stream, std::move(work)) != cudaSuccess) {
      return nccl_error({ncclUnhandledCudaError, "the work could not be put into the stream"});
    }
  }
  return ncclSuccess;
}

ncclResult_t join_all(const std::vector<PendingJoin>& joins) {
  for (const PendingJoin& one : joins) {
    auto error = one.rank->clique->join(one.rank->rank, one.rank->device);
    if (error) return nccl_error(std::move(*error));
  }
  for (const PendingJoin& one : joins) {
    auto error = one.rank->clique->wait_for_all();
    if (error) return nccl_error(std::move(*error));
    *one.handle = add_rank(one.rank);
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t nccl_error(NcclError error) {
  last_error = std::move(error.text);
  if (group.depth > 0 && group.status == ncclSuccess) group.status = error.status;
  return error.status;
}

const std::string& last_nccl_error() { return last_error; }

int device_of(cudaStream_t handle) {
  int device = -1;
  call([&](State& state, Lock&) {
    const Stream* const stream = state.find_stream(handle);
    if (stream != nullptr) device = stream->device();
    return cudaSuccess;
  });
  return device;
}

ncclResult_t submit(const NcclRankPtr& rank, const NcclCall& call, cudaStream_t stream) {
  if (group.depth == 0) return launch({{rank, call, stream}});
  group.calls.push_back({rank, call, stream});
  return ncclSuccess;
}

ncclResult_t join(const NcclRankPtr& rank, ncclComm_t* handle) {
  if (group.depth == 0) return join_all({{rank, handle}});
  group.joins.push_back({rank, handle});
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return nccl_error({ncclInvalidUsage, "no group was started"});
  if (--group.depth > 0) return ncclSuccess;
  const Group ended = std::exchange(group, {});
  // A call that failed was not noted, and the others are not made either.
  if (ended.status != ncclSuccess) return ended.status;
  const ncclResult_t status = join_all(ended.joins);
  if (status != ncclSuccess || ended.calls.empty()) return status;
  return launch(ended.calls);
}

}  // namespace towerflow::cuda::host
