#include "cuda/host/nccl_call.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace towerflow::cuda::host {
namespace {

using Kind = NcclCall::Kind;

const char* name_of(ncclDataType_t type) {
  constexpr const char* names[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                   "uint64", "float16", "float32", "float64", "bfloat16"};
  return names[static_cast<int>(type)];
}

const char* name_of(ncclRedOp_t reduction) {
  constexpr const char* names[] = {"sum", "product", "maximum", "minimum", "mean"};
  return names[static_cast<int>(reduction)];
}

bool reduces(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

bool has_root(Kind kind) { return kind == Kind::reduce || kind == Kind::broadcast; }

/// 16-bit numbers are added as floats and rounded once.
template <typename T>
using Sum =
    std::conditional_t<std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, float, T>;

template <typename T>
Sum<T> widen(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(value);
  } else {
    return value;
  }
}

template <typename T>
T narrow(Sum<T> value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16(value);
  } else {
    return value;
  }
}

template <typename S>
S combine(ncclRedOp_t reduction, S a, S b) {
  switch (reduction) {
    case ncclProd:
      return static_cast<S>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return static_cast<S>(a + b);
  }
}

template <typename T>
void reduce_as(const std::vector<NcclCall>& calls, std::size_t count,
               std::vector<std::byte>& result) {
  result.resize(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const auto element = [&](const NcclCall& call) {
      T value;
      std::memcpy(static_cast<void*>(&value),
                  static_cast<const std::byte*>(call.from) + i * sizeof(T), sizeof(T));
      return widen<T>(value);
    };
    Sum<T> sum = element(calls[0]);
    for (std::size_t rank = 1; rank < calls.size(); ++rank) {
      sum = combine<Sum<T>>(calls[0].reduction, sum, element(calls[rank]));
    }
    if (calls[0].reduction == ncclAvg) {
      sum = static_cast<Sum<T>>(sum / static_cast<Sum<T>>(static_cast<int>(calls.size())));
    }
    const T value = narrow<T>(sum);
    std::memcpy(result.data() + i * sizeof(T), static_cast<const void*>(&value), sizeof(T));
  }
}

std::vector<std::byte> reduce(const std::vector<NcclCall>& calls, std::size_t count) {
  std::vector<std::byte> result;
  switch (calls[0].type) {
    case ncclInt8:
      reduce_as<std::int8_t>(calls, count, result);
      break;
    case ncclUint8:
      reduce_as<std::uint8_t>(calls, count, result);
      break;
    case ncclInt32:
      reduce_as<std::int32_t>(calls, count, result);
      break;
    case ncclUint32:
      reduce_as<std::uint32_t>(calls, count, result);
      break;
    case ncclInt64:
      reduce_as<std::int64_t>(calls, count, result);
      break;
    case ncclUint64:
      reduce_as<std::uint64_t>(calls, count, result);
      break;
    case ncclFloat16:
      reduce_as<__half>(calls, count, result);
      break;
    case ncclBfloat16:
      reduce_as<__nv_bfloat16>(calls, count, result);
      break;
    case ncclFloat64:
      reduce_as<double>(calls, count, result);
      break;
    default:
      reduce_as<float>(calls, count, result);
  }
  return result;
}

void write(const NcclCall& call, const std::byte* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(call.to, from, bytes);
}

std::vector<std::byte> read(const NcclCall& call, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(call.from);
  return bytes == 0 ? std::vector<std::byte>() : std::vector<std::byte>(from, from + bytes);
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

const char* NcclCall::name() const {
  constexpr const char* names[] = {"ncclAllReduce", "ncclReduce",        "ncclBroadcast",
                                   "ncclAllGather", "ncclReduceScatter", "ncclSend",
                                   "ncclRecv"};
  return names[static_cast<int>(kind)];
}

std::string NcclCall::text() const {
  std::string text = std::string(name()) + " of " + std::to_string(count) + " " + name_of(type);
  if (reduces(kind)) text += std::string(" by ") + name_of(reduction);
  if (has_root(kind)) text += " with root " + std::to_string(root);
  return text;
}

bool NcclCall::matches(const NcclCall& other) const {
  if (is_point_to_point() && other.is_point_to_point()) {
    return count == other.count && type == other.type;
  }
  return kind == other.kind && count == other.count && type == other.type &&
         (!reduces(kind) || reduction == other.reduction) &&
         (!has_root(kind) || root == other.root);
}

std::size_t NcclCall::bytes_read(int rank, int ranks) const {
  const std::size_t bytes = count * size_of(type);
  switch (kind) {
    case Kind::reduce_scatter:
      return bytes * static_cast<std::size_t>(ranks);
    case Kind::broadcast:
      return rank == root ? bytes : 0;
    case Kind::receive:
      return 0;
    default:
      return bytes;
  }
}

std::size_t NcclCall::bytes_written(int rank, int ranks) const {
  const std::size_t bytes = count * size_of(type);
  switch (kind) {
    case Kind::all_gather:
      return bytes * static_cast<std::size_t>(ranks);
    case Kind::reduce:
      return rank == root ? bytes : 0;
    case Kind::send:
      return 0;
    default:
      return bytes;
  }
}

std::vector<Operand> NcclCall::operands(int rank, int ranks) const {
  std::vector<Operand> operands;
  const std::size_t read = bytes_read(rank, ranks), written = bytes_written(rank, ranks);
  if (read != 0) operands.push_back({from, read, false});
  if (written != 0) operands.push_back({to, written, true});
  return operands;
}

bool NcclCall::overlaps(int rank, int ranks) const {
  const std::size_t read = bytes_read(rank, ranks), written = bytes_written(rank, ranks);
  const auto* const source = static_cast<const std::byte*>(from);
  const auto* const target = static_cast<const std::byte*>(to);
  if (read == 0 || written == 0 || source >= target + written || target >= source + read) {
    return false;
  }
  const std::size_t part = static_cast<std::size_t>(rank) * count * size_of(type);
  switch (kind) {
    case Kind::all_gather:
      return source != target + part;
    case Kind::reduce_scatter:
      return target != source + part;
    default:
      return source != target;
  }
}

void exchange(const std::vector<NcclCall>& calls) {
  const NcclCall& first = calls[0];
  const std::size_t bytes = first.count * size_of(first.type);
  const auto root = static_cast<std::size_t>(first.root);
  // All is read before anything is written, since ranks may work in place.
  switch (first.kind) {
    case Kind::all_reduce: {
      const std::vector<std::byte> sum = reduce(calls, first.count);
      for (const NcclCall& call : calls) write(call, sum.data(), bytes);
      break;
    }
    case Kind::reduce:
      write(calls[root], reduce(calls, first.count).data(), bytes);
      break;
    case Kind::reduce_scatter: {
      const std::vector<std::byte> sum = reduce(calls, first.count * calls.size());
      for (std::size_t rank = 0; rank < calls.size(); ++rank) {
        write(calls[rank], sum.data() + rank * bytes, bytes);
      }
      break;
    }
    case Kind::broadcast: {
      const std::vector<std::byte> data = read(calls[root], bytes);
      for (const NcclCall& call : calls) write(call, data.data(), bytes);
      break;
    }
    case Kind::all_gather: {
      std::vector<std::byte> all;
      for (const NcclCall& call : calls) {
        const std::vector<std::byte> part = read(call, bytes);
        all.insert(all.end(), part.begin(), part.end());
      }
      for (const NcclCall& call : calls) write(call, all.data(), all.size());
      break;
    }
    default:
      write(calls[1], read(calls[0], bytes).data(), bytes);
  }
}

}  // namespace towerflow::cuda::host
