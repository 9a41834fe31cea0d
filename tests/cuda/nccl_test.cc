// The emulated NCCL: what its calls compute.
#include <map>

#include "tests/cuda/nccl_ranks.h"

namespace towerflow::cuda::testing {
namespace {

TEST_CASE("nccl: all collectives [three ranks in threads]") {
  const Ranks ranks(3);
  const Table& cuda = emulation();
  constexpr std::size_t kCount = 5;
  const auto whole = [](int rank) { return floats(rank, 3 * kCount); };
  Arrays<float> from(ranks, whole), sum(ranks, kCount), one(ranks, kCount), copy(ranks, kCount),
      all(ranks, 3 * kCount), part(ranks, kCount);
  ranks.in_threads([&](int rank) {
    const ncclComm_t comm = ranks.comm(rank);
    const cudaStream_t stream = ranks.stream(rank);
    const float* const data = from.at(rank);
    CHECK(cuda.ncclAllReduce(data, sum.at(rank), kCount, ncclFloat, ncclSum, comm, stream) == 0);
    CHECK(cuda.ncclReduce(data, rank == 1 ? one.at(rank) : nullptr, kCount, ncclFloat, ncclMax, 1,
                          comm, stream) == 0);
    CHECK(cuda.ncclBroadcast(rank == 2 ? data : nullptr, copy.at(rank), kCount, ncclFloat, 2, comm,
                             stream) == 0);
    CHECK(cuda.ncclAllGather(data, all.at(rank), kCount, ncclFloat, comm, stream) == 0);
    CHECK(cuda.ncclReduceScatter(data, part.at(rank), kCount, ncclFloat, ncclAvg, comm, stream) ==
          0);
    CHECK(ranks.wait(rank) == cudaSuccess);
  });
  const std::vector<float> a = whole(0), b = whole(1), c = whole(2);
  for (int rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t p = static_cast<std::size_t>(rank) * kCount + i;
      CHECK(sum.read(rank)[i] == a[i] + b[i] + c[i]);  // in the order of the ranks, bit for bit
      CHECK(one.read(rank)[i] == (rank == 1 ? std::max({a[i], b[i], c[i]}) : -1.0F));
      CHECK(copy.read(rank)[i] == c[i]);
      CHECK(part.read(rank)[i] == (a[p] + b[p] + c[p]) / 3);
      CHECK(all.read(rank)[i] == a[i]);
      CHECK(all.read(rank)[kCount + i] == b[i]);
      CHECK(all.read(rank)[2 * kCount + i] == c[i]);
    }
  }
}

TEST_CASE("nccl: types and operations [in place, one thread with a group]") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  const auto check = [&](auto zero, ncclDataType_t type) {
    using T = decltype(zero);
    for (const auto& [reduction, expected] : std::map<ncclRedOp_t, int>{
             {ncclSum, 10}, {ncclProd, 21}, {ncclMax, 7}, {ncclMin, 3}, {ncclAvg, 5}}) {
      Arrays<T> data(ranks, [](int rank) { return std::vector<T>(4, T(rank == 0 ? 3 : 7)); });
      CHECK(cuda.ncclGroupStart() == ncclSuccess);
      for (int rank = 0; rank < 2; ++rank) {
        CHECK(cuda.ncclAllReduce(data.at(rank), data.at(rank), 4, type, reduction, ranks.comm(rank),
                                 ranks.stream(rank)) == ncclSuccess);
      }
      CHECK(cuda.ncclGroupEnd() == ncclSuccess);
      for (int rank = 0; rank < 2; ++rank) {
        CHECK(ranks.wait(rank) == cudaSuccess);
        CHECK(data.read(rank)[3] == T(expected));
      }
    }
  };
  check(std::int8_t{}, ncclInt8);
  check(std::uint8_t{}, ncclUint8);
  check(std::int32_t{}, ncclInt32);
  check(std::uint32_t{}, ncclUint32);
  check(std::int64_t{}, ncclInt64);
  check(std::uint64_t{}, ncclUint64);
  check(float{}, ncclFloat32);
  check(double{}, ncclFloat64);
}

TEST_CASE("nccl: sends and receives [a ring within groups]") {
  const Ranks ranks(3);
  const Table& cuda = emulation();
  Arrays<float> from(ranks, [](int rank) { return floats(rank, 6); }), to(ranks, 6);
  ranks.in_threads([&](int rank) {
    CHECK(cuda.ncclGroupStart() == ncclSuccess);
    CHECK(cuda.ncclSend(from.at(rank), 6, ncclFloat, (rank + 1) % 3, ranks.comm(rank),
                        ranks.stream(rank)) == ncclSuccess);
    CHECK(cuda.ncclRecv(to.at(rank), 6, ncclFloat, (rank + 2) % 3, ranks.comm(rank),
                        ranks.stream(rank)) == ncclSuccess);
    CHECK(cuda.ncclGroupEnd() == ncclSuccess);
    CHECK(ranks.wait(rank) == cudaSuccess);
  });
  for (int rank = 0; rank < 3; ++rank) CHECK(to.read(rank) == floats((rank + 2) % 3, 6));
}

TEST_CASE("nccl: ranks join by an identifier, in threads or in a group") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  ncclUniqueId id;
  CHECK(cuda.ncclGetUniqueId(&id) == ncclSuccess);
  std::vector<ncclComm_t> comms(2);
  ranks.in_threads([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    CHECK(cuda.ncclCommInitRank(&comms[r], 2, id, rank) == ncclSuccess);
    int number = -1, count = -1, device = -1;
    CHECK(cuda.ncclCommUserRank(comms[r], &number) == ncclSuccess);
    CHECK(cuda.ncclCommCount(comms[r], &count) == ncclSuccess);
    CHECK(cuda.ncclCommCuDevice(comms[r], &device) == ncclSuccess);
    CHECK(number == rank);
    CHECK(count == 2);
    CHECK(device == rank);
    CHECK(cuda.ncclCommDestroy(comms[r]) == ncclSuccess);
    CHECK(cuda.ncclCommDestroy(comms[r]) == ncclInvalidArgument);
  });
  CHECK(cuda.ncclGetUniqueId(&id) == ncclSuccess);
  CHECK(cuda.ncclGroupStart() == ncclSuccess);
  for (int rank = 0; rank < 2; ++rank) {
    cuda.cudaSetDevice(rank);
    CHECK(cuda.ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 2, id, rank) ==
          ncclSuccess);
  }
  CHECK(cuda.ncclGroupEnd() == ncclSuccess);
  // An identifier serves once, and one that was invented never.
  CHECK(cuda.ncclCommInitRank(comms.data(), 2, id, 0) == ncclInvalidArgument);
  CHECK(cuda.ncclCommInitRank(comms.data(), 2, ncclUniqueId{}, 0) == ncclInvalidArgument);
  CHECK(cuda.ncclCommInitRank(comms.data(), 2, id, 2) == ncclInvalidArgument);
}

TEST_CASE("nccl: communicators in one order, and in a group, are right") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  const std::vector<ncclComm_t> others = ranks.make();
  Arrays<float> data(ranks, [](int) { return std::vector<float>(4, 1); }),
      more(ranks, [](int) { return std::vector<float>(4, 2); });
  ranks.in_threads([&](int rank) {
    for (int step = 0; step < 20; ++step) {
      // A group has no order within.
      CHECK(cuda.ncclGroupStart() == ncclSuccess);
      for (int i = 0; i < 2; ++i) {
        const bool is_first = (i == 0) == (rank == 0);
        const auto& array = is_first ? data : more;
        CHECK(
            cuda.ncclAllReduce(array.at(rank), array.at(rank), 4, ncclFloat, ncclAvg,
                               is_first ? ranks.comm(rank) : others[static_cast<std::size_t>(rank)],
                               ranks.stream(rank)) == ncclSuccess);
      }
      CHECK(cuda.ncclGroupEnd() == ncclSuccess);
    }
    CHECK(ranks.wait(rank) == cudaSuccess);
  });
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(data.read(rank) == std::vector<float>(4, 1));
    CHECK(more.read(rank) == std::vector<float>(4, 2));
  }
}

TEST_CASE("nccl: captured calls meet again in each replay") {
  const Ranks ranks(2);
  const Table& cuda = emulation();
  Arrays<float> data(ranks,
                     [](int rank) { return std::vector<float>(4, rank == 0 ? 1.0F : 2.0F); });
  ranks.in_threads([&](int rank) {
    const cudaStream_t stream = ranks.stream(rank);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cuda.cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK(cuda.ncclAllReduce(data.at(rank), data.at(rank), 4, ncclFloat, ncclSum, ranks.comm(rank),
                             stream) == ncclSuccess);
    CHECK(cuda.cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    CHECK(cuda.cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (int i = 0; i < 3; ++i) CHECK(cuda.cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(ranks.wait(rank) == cudaSuccess);
    CHECK(cuda.cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(cuda.cudaGraphDestroy(graph) == cudaSuccess);
  });
  for (int rank = 0; rank < 2; ++rank) CHECK(data.read(rank) == std::vector<float>(4, 12));
}

}  // namespace
}  // namespace towerflow::cuda::testing
