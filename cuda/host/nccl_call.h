#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/host/libraries.h"
#include "cuda/host/work.h"

namespace towerflow::cuda::host {

/// One call for one rank: what is exchanged, and this rank's memory.
struct NcclCall {
  enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, receive };
  Kind kind = Kind::all_reduce;
  std::size_t count = 0;  ///< elements, as the call was told
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;  ///< of a reduction to one rank and of a broadcast; the peer of a send or receive
  const void* from = nullptr;
  void* to = nullptr;

  bool is_point_to_point() const { return kind == Kind::send || kind == Kind::receive; }
  const char* name() const;
  /// "ncclAllReduce of 12 float32 by sum".
  std::string text() const;
  /// Returns whether this call and one of another rank are the same operation.
  bool matches(const NcclCall& other) const;

  /// Bytes that a rank reads and writes; 0 if it does not.
  std::size_t bytes_read(int rank, int ranks) const;
  std::size_t bytes_written(int rank, int ranks) const;
  std::vector<Operand> operands(int rank, int ranks) const;
  /// Returns whether what is written overlaps what is read, other than in place.
  bool overlaps(int rank, int ranks) const;
};

/// Returns 0 if the type is not emulated.
std::size_t size_of(ncclDataType_t type);

/// Exchanges the data of all ranks' calls; calls of point-to-point transfers are the sender's and
/// the receiver's. Sums are added in the order of the ranks, so that repeats are equal. The
/// addresses are those of the host.
void exchange(const std::vector<NcclCall>& calls);

}  // namespace towerflow::cuda::host
