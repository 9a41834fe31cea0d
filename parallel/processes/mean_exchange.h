#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/device/cpu/slicing.h"
#include "core/graph/dtype.h"
#include "parallel/processes/exchange.h"

namespace towerflow::parallel::processes {

/// Adds up float32 or float64 numbers over the processes that give some, and divides by the number
/// of these processes. The others get the mean too.
///
/// Numbers are added in rank order, starting from zero, whatever arrives first: repeats are equal
/// to the bit, and so is the mean of the gradients of as many towers. Of a long buffer each process
/// adds up an equal part, which the others get from it. (Reduce-scatter, then all-gather; Thakur,
/// Rabenseifner, Gropp 2005, section 4.)
class MeanExchange : public Exchange {
 public:
  std::int64_t elements() const { return elements_; }

  /// Returns the memory for the numbers that this process gives in the next exchange, aligned to 64
  /// bytes. The exchange reads them and leaves them as they are.
  virtual std::byte* numbers() = 0;
  /// Returns the means of the exchange that has ended, aligned to 64 bytes. They stay as they are
  /// until the next exchange with this tag begins.
  virtual const std::byte* means() const = 0;

 protected:
  /// Elements of the buffer.
  struct Range {
    std::int64_t begin = 0, size = 0;
  };

  /// `givers` are the ranks whose numbers are added up, in ascending order; all if empty. Parts of
  /// a long buffer begin at multiples of `unit` elements.
  MeanExchange(const types::ProcessGroup& group, std::string what, int tag, DType dtype,
               std::int64_t elements, std::vector<int> givers, std::int64_t unit);

  int rank() const { return rank_; }
  int size() const { return size_; }
  DType dtype() const { return dtype_; }
  bool gives(int rank) const;
  std::size_t bytes(Range range) const;
  Range all() const { return {0, elements_}; }
  /// Returns the part that a process adds up.
  Range part_of(int rank) const;
  /// Returns piece `piece` of a part. A piece is so long that a message of it takes the time of its
  /// bytes, and so short that it is still in a cache when it is added.
  static Range piece_of(Range part, int piece);
  static int pieces_of(Range part);

 private:
  int rank_, size_;
  DType dtype_;
  std::int64_t elements_, unit_;
  std::vector<int> givers_;
};

/// Returns the exchange that suits the processes of a group: in memory that they share if all are
/// on this host, by messages otherwise.
std::shared_ptr<MeanExchange> make_mean_exchange(const types::ProcessGroup& group, std::string what,
                                                 int tag, DType dtype, std::int64_t elements,
                                                 std::vector<int> givers = {});

}  // namespace towerflow::parallel::processes
