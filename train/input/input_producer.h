#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"
#include "ops/data_flow/queue.h"
#include "ops/operand_list.h"

namespace towerflow::train {

struct LimitEpochsOptions {
  std::optional<std::int64_t> num_epochs{};  ///< no limit when absent
  std::string name{};
};

/// Returns a tensor that equals `tensor` in `num_epochs` runs and then throws OutOfRangeError. The
/// count is in a local variable `epochs`, which `local_variables_initializer` sets to 0.
///
/// shapes   tensor [...] -> [...]     dtypes  all
/// errors   ValueError: num_epochs below 1
/// source   tf.train.limit_epochs
Tensor limit_epochs(const Operand& tensor, LimitEpochsOptions options = {},
                    Site site = Site::current());

struct InputProducerOptions {
  std::optional<Shape> element_shape{};      ///< of a row; by default from the tensor
  std::optional<std::int64_t> num_epochs{};  ///< how often each row is produced; no limit if absent
  bool shuffle = true;                       ///< in a new order each epoch
  std::optional<std::int64_t> seed{};        ///< of the shuffle
  std::int64_t capacity = 32;                ///< of the queue
  std::string shared_name{};
  std::string summary_name{};  ///< if given, adds a summary of how full the queue is
  std::string name{};
  Operation cancel_op{};
};

/// Returns a queue of the rows of a tensor, filled by a queue runner that is added to
/// QUEUE_RUNNERS.
///
/// shapes   input_tensor [n, ...] -> elements [...]     dtypes  all
/// errors   ValueError: rows of a shape that is not fully known
/// source   tf.train.input_producer
FIFOQueue input_producer(const Operand& input_tensor, InputProducerOptions options = {},
                         Site site = Site::current());

struct StringInputProducerOptions {
  std::optional<std::int64_t> num_epochs{};
  bool shuffle = true;
  std::optional<std::int64_t> seed{};
  std::int64_t capacity = 32;
  std::string shared_name{};
  std::string name{};
  Operation cancel_op{};
};

/// Like `input_producer` for strings such as file names, with a summary of how full the queue is.
///
/// shapes   string_tensor [n]     dtypes  string
/// errors   ValueError: an empty list; InvalidArgumentError in a run: a tensor without elements
/// source   tf.train.string_input_producer
FIFOQueue string_input_producer(const Operand& string_tensor,
                                StringInputProducerOptions options = {},
                                Site site = Site::current());

struct RangeInputProducerOptions {
  std::optional<std::int64_t> num_epochs{};
  bool shuffle = true;
  std::optional<std::int64_t> seed{};
  std::int64_t capacity = 32;
  std::string shared_name{};
  std::string name{};
};

/// Like `input_producer` for the numbers 0 .. limit - 1, with a summary of how full the queue is.
///
/// shapes   limit []     dtypes  int32, int64
/// source   tf.train.range_input_producer
FIFOQueue range_input_producer(const Operand& limit, RangeInputProducerOptions options = {},
                               Site site = Site::current());

struct SliceInputProducerOptions {
  std::optional<std::int64_t> num_epochs{};
  bool shuffle = true;
  std::optional<std::int64_t> seed{};
  std::int64_t capacity = 32;
  std::string shared_name{};
  std::string name{};
};

/// Returns the same row of each tensor, a different one in every run: for examples in memory, such
/// as lists of files and their labels. The row numbers come through a queue.
///
/// shapes   each [n, ...] -> [...]     dtypes  all
/// errors   ValueError: no tensors; at run time InvalidArgumentError: a tensor with fewer rows than
///          the first, OutOfRangeError: the last epoch is over
/// source   tf.train.slice_input_producer
Components slice_input_producer(const OperandList& tensor_list,
                                SliceInputProducerOptions options = {},
                                Site site = Site::current());
template <std::size_t N>
std::array<Tensor, N> slice_input_producer(const Operand (&tensor_list)[N],
                                           SliceInputProducerOptions options = {},
                                           Site site = Site::current()) {
  const OperandList list(std::vector<Operand>(tensor_list, tensor_list + N));
  return slice_input_producer(list, std::move(options), site).template unpack<N>();
}

}  // namespace towerflow::train
