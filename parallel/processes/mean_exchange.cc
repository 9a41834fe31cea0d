#include "parallel/processes/mean_exchange.h"

#include <algorithm>
#include <utility>

#include "core/device/cpu/slicing.h"
#include "parallel/processes/group.h"
#include "parallel/processes/mean_by_messages.h"
#include "parallel/processes/mean_in_shared_memory.h"

namespace towerflow::parallel::processes {
namespace {

/// Elements of a piece.
constexpr std::int64_t kPiece = 128 * 1024;

}  // namespace

MeanExchange::MeanExchange(const ProcessGroup& group, std::string what, int tag, DType dtype,
                           std::int64_t elements, std::vector<int> givers, std::int64_t unit)
    : Exchange(std::move(what), tag),
      rank_(group.rank()),
      size_(group.size()),
      dtype_(dtype),
      elements_(elements),
      unit_(unit),
      givers_(std::move(givers)) {}

bool MeanExchange::gives(int rank) const {
  return givers_.empty() || std::binary_search(givers_.begin(), givers_.end(), rank);
}

std::size_t MeanExchange::bytes(Range range) const {
  return static_cast<std::size_t>(range.size) * dtype_size(dtype_);
}

MeanExchange::Range MeanExchange::part_of(int rank) const {
  const SliceRange part = slice_range(elements_, size_, rank, unit_);
  return {part.begin, part.size()};
}

MeanExchange::Range MeanExchange::piece_of(Range part, int piece) {
  const std::int64_t from = piece * kPiece;
  return {part.begin + from, std::min(kPiece, part.size - from)};
}

int MeanExchange::pieces_of(Range part) {
  return static_cast<int>((part.size + kPiece - 1) / kPiece);
}

std::shared_ptr<MeanExchange> make_mean_exchange(const ProcessGroup& group, std::string what,
                                                 int tag, DType dtype, std::int64_t elements,
                                                 std::vector<int> givers) {
  if (group.shares_memory()) {
    return std::make_shared<MeanInSharedMemory>(group, std::move(what), tag, dtype, elements,
                                                std::move(givers));
  }
  return std::make_shared<MeanByMessages>(group, std::move(what), tag, dtype, elements,
                                          std::move(givers));
}

}  // namespace towerflow::parallel::processes
