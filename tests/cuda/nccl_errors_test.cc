// The emulated NCCL: mistakes that make ranks wait for ever on cards.
#include "tests/cuda/nccl_ranks.h"

namespace towerflow::cuda::testing {
namespace {

TEST_CASE("nccl: two ranks on one device are refused, as by the library") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  const int devices[] = {1, 1};
  ncclComm_t comms[2] = {};
  CHECK(cuda.ncclCommInitAll(comms, 2, devices) == ncclInvalidUsage);
  CHECK(std::string(cuda.ncclGetLastError(nullptr)) == "ranks 0 and 1 are both on device 1");
  ncclUniqueId id;
  CHECK(cuda.ncclGetUniqueId(&id) == ncclSuccess);
  ranks.in_threads([&](int rank) {
    cuda.cudaSetDevice(0);
    ncclComm_t comm = nullptr;
    CHECK(cuda.ncclCommInitRank(&comm, 2, id, rank) == ncclInvalidUsage);
  });
}

TEST_CASE("nccl: joining for two ranks in one thread without a group is an error in time") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  host::set_nccl_patience(milliseconds(100));
  ncclUniqueId id;
  CHECK(cuda.ncclGetUniqueId(&id) == ncclSuccess);
  ncclComm_t comm = nullptr;
  CHECK(cuda.ncclCommInitRank(&comm, 2, id, 0) == ncclInvalidUsage);
  CHECK(std::string(cuda.ncclGetLastError(nullptr)) ==
        "rank 1 did not join within 0.1 s; a thread that joins for several ranks needs a group");
}

/// Two ranks that call different things; the second must get an error with a text.
void check_mismatch(const std::function<ncclResult_t(const Ranks&, int, float*)>& second,
                    const std::string& text) {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> data(ranks, 8);
  CHECK(cuda.ncclAllReduce(data.at(0), data.at(0), 4, ncclFloat, ncclSum, ranks.comm(0),
                           ranks.stream(0)) == ncclSuccess);
  ncclResult_t status = ncclSuccess;
  std::string found;
  std::thread([&] {
    status = second(ranks, 1, data.at(1));
    found = cuda.ncclGetLastError(ranks.comm(1));
  }).join();
  CHECK(status == ncclInvalidUsage);
  CHECK(found == text);
  // The first rank does not wait for ever.
  CHECK(ranks.wait(0) == cudaErrorLaunchFailure);
  ncclResult_t asynchronous = ncclSuccess;
  CHECK(cuda.ncclCommGetAsyncError(ranks.comm(0), &asynchronous) == ncclSuccess);
  CHECK(asynchronous == ncclInvalidUsage);
}

TEST_CASE("nccl: calls that do not match are errors") {
  const Table& cuda = emulation();
  const std::string start = "rank 1 (device 1) calls ";
  const std::string end = ", another rank ncclAllReduce of 4 float32 by sum";
  check_mismatch(
      [&](const Ranks& ranks, int rank, float* at) {
        return cuda.ncclAllReduce(at, at, 3, ncclFloat, ncclSum, ranks.comm(rank),
                                  ranks.stream(rank));
      },
      start + "ncclAllReduce of 3 float32 by sum" + end);
  check_mismatch(
      [&](const Ranks& ranks, int rank, float* at) {
        return cuda.ncclAllReduce(at, at, 4, ncclInt32, ncclSum, ranks.comm(rank),
                                  ranks.stream(rank));
      },
      start + "ncclAllReduce of 4 int32 by sum" + end);
  check_mismatch(
      [&](const Ranks& ranks, int rank, float* at) {
        return cuda.ncclAllReduce(at, at, 4, ncclFloat, ncclMax, ranks.comm(rank),
                                  ranks.stream(rank));
      },
      start + "ncclAllReduce of 4 float32 by maximum" + end);
  check_mismatch(
      [&](const Ranks& ranks, int rank, float* at) {
        return cuda.ncclBroadcast(at, at, 4, ncclFloat, 0, ranks.comm(rank), ranks.stream(rank));
      },
      start + "ncclBroadcast of 4 float32 with root 0" + end);
}

TEST_CASE("nccl: roots that differ are errors") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> data(ranks, 4);
  CHECK(cuda.ncclBroadcast(data.at(0), data.at(0), 4, ncclFloat, 0, ranks.comm(0),
                           ranks.stream(0)) == ncclSuccess);
  std::thread([&] {
    CHECK(cuda.ncclBroadcast(data.at(1), data.at(1), 4, ncclFloat, 1, ranks.comm(1),
                             ranks.stream(1)) == ncclInvalidUsage);
  }).join();
  CHECK(ranks.wait(0) == cudaErrorLaunchFailure);
}

TEST_CASE("nccl: a rank that never comes is an error in time") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> data(ranks, 4);
  host::set_nccl_patience(milliseconds(100));
  CHECK(cuda.ncclAllReduce(data.at(0), data.at(0), 4, ncclFloat, ncclSum, ranks.comm(0),
                           ranks.stream(0)) == ncclSuccess);
  CHECK(ranks.wait(0) == cudaErrorLaunchFailure);
  CHECK(std::string(cuda.ncclGetLastError(ranks.comm(0))) ==
        "rank 0 (device 0) waits in ncclAllReduce of 4 float32 by sum since 0.1 s: rank 1 (device "
        "1) did not come");
  CHECK(cuda.ncclAllReduce(data.at(1), data.at(1), 4, ncclFloat, ncclSum, ranks.comm(1),
                           ranks.stream(1)) == ncclRemoteError);
}

TEST_CASE("nccl: sends that wait for each other are an error in time") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> from(ranks, 4), to(ranks, 4);
  host::set_nccl_patience(milliseconds(100));
  ranks.in_threads([&](int rank) {
    CHECK(cuda.ncclSend(from.at(rank), 4, ncclFloat, 1 - rank, ranks.comm(rank),
                        ranks.stream(rank)) == ncclSuccess);
    cuda.ncclRecv(to.at(rank), 4, ncclFloat, 1 - rank, ranks.comm(rank), ranks.stream(rank));
    CHECK(ranks.wait(rank) == cudaErrorLaunchFailure);
  });
}

TEST_CASE("nccl: one thread that calls for two ranks needs a group") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> data(ranks, 4);
  const auto reduce = [&](int rank) {
    return cuda.ncclAllReduce(data.at(rank), data.at(rank), 4, ncclFloat, ncclSum, ranks.comm(rank),
                              ranks.stream(rank));
  };
  CHECK(reduce(0) == ncclSuccess);
  CHECK(reduce(1) == ncclInvalidUsage);
  CHECK(std::string(cuda.ncclGetLastError(ranks.comm(1))) ==
        "one thread calls ncclAllReduce of 4 float32 by sum for several ranks, one after the "
        "other, without a group");
  CHECK(ranks.wait(0) == cudaErrorLaunchFailure);
}

TEST_CASE("nccl: communicators that ranks use in different orders are an error") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  const std::vector<ncclComm_t> others = ranks.make();
  Arrays<float> data(ranks, 4), more(ranks, 4);
  const auto first = [&](int rank) {
    return cuda.ncclAllReduce(data.at(rank), data.at(rank), 4, ncclFloat, ncclSum, ranks.comm(rank),
                              ranks.stream(rank));
  };
  const auto second = [&](int rank) {
    return cuda.ncclBroadcast(more.at(rank), more.at(rank), 4, ncclFloat, 0,
                              others[static_cast<std::size_t>(rank)], ranks.stream(rank));
  };
  CHECK(first(0) == ncclSuccess);
  CHECK(second(0) == ncclSuccess);
  std::string text;
  std::thread([&] {
    cuda.cudaSetDevice(1);
    CHECK(second(1) == ncclInvalidUsage);
    text = cuda.ncclGetLastError(nullptr);
    // The first operation is right, but follows one that failed.
    first(1);
  }).join();
  CHECK(text ==
        "device 0 calls ncclAllReduce of 4 float32 by sum of one communicator before "
        "ncclBroadcast of 4 float32 with root 0 of another, device 1 after it: kernels may wait "
        "for each other");
  CHECK(ranks.wait(0) == cudaErrorLaunchFailure);
}

TEST_CASE("nccl: an abort ends the waits") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> data(ranks, 4);
  CHECK(cuda.ncclAllReduce(data.at(0), data.at(0), 4, ncclFloat, ncclSum, ranks.comm(0),
                           ranks.stream(0)) == ncclSuccess);
  std::this_thread::sleep_for(milliseconds(20));
  CHECK(cuda.ncclCommAbort(ranks.comm(0)) == ncclSuccess);
  CHECK(ranks.wait(0) == cudaSuccess);
  CHECK(data.read(0) == std::vector<float>(4, -1));
  ncclResult_t asynchronous = ncclSuccess;
  CHECK(cuda.ncclCommGetAsyncError(ranks.comm(1), &asynchronous) == ncclSuccess);
  CHECK(asynchronous == ncclRemoteError);
  CHECK(cuda.ncclCommAbort(ranks.comm(1)) == ncclSuccess);
}

TEST_CASE("nccl: wrong arguments are refused") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> data(ranks, 8);
  const auto reduce = [&](const float* from, float* to, int type, int reduction,
                          cudaStream_t stream) {
    return cuda.ncclAllReduce(from, to, 4, static_cast<ncclDataType_t>(type),
                              static_cast<ncclRedOp_t>(reduction), ranks.comm(0), stream);
  };
  float* const at = data.at(0);
  float on_host[4] = {};
  CHECK(reduce(nullptr, at, ncclFloat, ncclSum, ranks.stream(0)) == ncclInvalidArgument);
  CHECK(reduce(on_host, at, ncclFloat, ncclSum, ranks.stream(0)) == ncclInvalidArgument);
  CHECK(reduce(at, data.at(1), ncclFloat, ncclSum, ranks.stream(0)) == ncclInvalidArgument);
  CHECK(std::string(cuda.ncclGetLastError(nullptr)) ==
        "rank 0 gives ncclAllReduce of 4 float32 by sum memory of device 1, but is on device 0");
  CHECK(reduce(at, at + 1, ncclFloat, ncclSum, ranks.stream(0)) == ncclInvalidArgument);
  CHECK(reduce(at, at, 99, ncclSum, ranks.stream(0)) == ncclInvalidArgument);
  CHECK(reduce(at, at, ncclFloat, 77, ranks.stream(0)) == ncclInvalidArgument);
  CHECK(reduce(at, at, ncclFloat, ncclSum, ranks.stream(1)) == ncclInvalidArgument);
  CHECK(cuda.ncclBroadcast(at, at, 4, ncclFloat, 2, ranks.comm(0), ranks.stream(0)) ==
        ncclInvalidArgument);
  CHECK(cuda.ncclGroupEnd() == ncclInvalidUsage);
  CHECK(cuda.ncclCommFinalize(ranks.comm(0)) == ncclSuccess);
  CHECK(reduce(at, at, ncclFloat, ncclSum, ranks.stream(0)) == ncclInvalidUsage);
  CHECK(std::string(cuda.ncclGetErrorString(ncclInvalidUsage)) == "invalid usage");
}

}  // namespace
}  // namespace towerflow::cuda::testing
