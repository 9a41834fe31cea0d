#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "ops/operand_list.h"

namespace towerflow::types {

/// The components of a dequeued element. A single one converts to a tensor:
/// `Tensor x = queue.dequeue();`. Several: `auto [x, y] = queue.dequeue().unpack<2>();`.
class Components : public std::vector<Tensor> {
 public:
  using std::vector<Tensor>::vector;
  /// Throws ValueError unless there is exactly one.
  operator Tensor() const {  // NOLINT: TensorFlow returns the tensor itself
    return unpack<1>()[0];
  }
  /// Throws ValueError unless there are exactly N.
  template <std::size_t N>
  std::array<Tensor, N> unpack() const {
    check_count(N);
    std::array<Tensor, N> tensors;
    for (std::size_t i = 0; i < N; ++i) tensors[i] = (*this)[i];
    return tensors;
  }

 private:
  void check_count(std::size_t wanted) const;
};

struct QueueOptions {
  std::string name{};
};
struct CloseOptions {
  bool cancel_pending_enqueues = false;  ///< pending enqueues end with CancelledError
  std::string name{};
};

/// A queue in the graph; its elements are stored in a session. A cheap handle. (tf.QueueBase)
///
/// An element is a tuple of components with fixed dtypes and, if the queue specifies them, fixed
/// shapes. Enqueues wait while the queue is full, dequeues until there are enough elements; both
/// are served in order of arrival. Waiting ends with CancelledError when the session closes.
///
/// | closed queue            | result                                                         |
/// |-------------------------|----------------------------------------------------------------|
/// | enqueue, enqueue_many   | CancelledError                                                 |
/// | dequeue, dequeue_many   | OutOfRangeError if too few are left, which stay in the queue   |
/// | dequeue_up_to           | the elements left; OutOfRangeError if there are none           |
/// | close                   | CancelledError, unless it cancels pending enqueues             |
///
/// Records from a reader are enqueued in the order of reading, whatever the threads do.
class QueueBase {
 public:
  QueueBase() = default;
  /// Returns the queue that a node of an imported graph makes. Throws ValueError for other nodes.
  static QueueBase of_ref(const Tensor& ref, Site site = Site::current());

  bool valid() const { return ref_.valid(); }
  const Tensor& queue_ref() const { return ref_; }
  const std::string& name() const { return ref_.op().name(); }
  const std::vector<DType>& dtypes() const;
  /// Returns the shapes of the components; unknown ones if elements may differ.
  std::vector<Shape> shapes() const;

  /// Adds one element; literals take the dtype of their component.
  Operation enqueue(const OperandList& values, QueueOptions options = {},
                    Site site = Site::current()) const;
  /// Adds one element per row: components [n, ...] make n elements.
  Operation enqueue_many(const OperandList& values, QueueOptions options = {},
                         Site site = Site::current()) const;
  Components dequeue(QueueOptions options = {}, Site site = Site::current()) const;
  /// Takes n elements at once: components [n, ...]. Fails at run time unless shapes are specified.
  Components dequeue_many(const Operand& n, QueueOptions options = {},
                          Site site = Site::current()) const;
  /// As `dequeue_many`, but accepts fewer elements (at least one) at the end of a closed queue.
  Components dequeue_up_to(const Operand& n, QueueOptions options = {},
                           Site site = Site::current()) const;
  /// Closes the queue to further elements; runs after pending enqueues, unless it cancels them.
  Operation close(CloseOptions options = {}, Site site = Site::current()) const;
  /// Returns the number of elements, int32 [].
  Tensor size(QueueOptions options = {}, Site site = Site::current()) const;
  /// Returns whether the queue is closed, bool [].
  Tensor is_closed(QueueOptions options = {}, Site site = Site::current()) const;

  bool operator==(const QueueBase&) const = default;

 protected:
  explicit QueueBase(Tensor ref) : ref_(ref) {}

 private:
  std::string short_name() const;
  Operation add(const OperandList& values, bool many, const QueueOptions& options, Site site) const;
  Components take(const char* op, const char* suffix, const Operand& n, const QueueOptions& options,
                  Site site) const;

  Tensor ref_;
};

struct FIFOQueueOptions {
  std::vector<Shape> shapes{};  ///< one per component, fully known; empty if elements may differ
  std::string shared_name{};    ///< queues of a session with the same shared_name are one queue
  std::string name{};           ///< "fifo_queue"
};

/// A first-in, first-out queue. `capacity` is the maximum number of elements, -1 for no limit.
/// Throws ValueError if shapes are not fully known or not as many as dtypes, or if the capacity is
/// 0. (tf.FIFOQueue)
class FIFOQueue : public QueueBase {
 public:
  FIFOQueue() = default;
  FIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, FIFOQueueOptions options = {},
            Site site = Site::current());
};

struct RandomShuffleQueueOptions {
  std::vector<Shape> shapes{};
  std::optional<std::int64_t> seed{};
  std::string shared_name{};
  std::string name{};  ///< "random_shuffle_queue"
};

/// A queue whose elements come out in random order, each drawn from the `min_after_dequeue + 1`
/// oldest (from fewer if the queue is closed). With a seed, of the op or the graph, the order
/// depends only on the seed and the order of admission, not on threads or timing.
/// (tf.RandomShuffleQueue; TensorFlow draws from all elements present at the time of the draw)
/// Errors: as FIFOQueue; InvalidArgumentError at run time unless 0 <= min_after_dequeue < capacity.
class RandomShuffleQueue : public QueueBase {
 public:
  RandomShuffleQueue() = default;
  RandomShuffleQueue(std::int64_t capacity, std::int64_t min_after_dequeue,
                     std::vector<DType> dtypes, RandomShuffleQueueOptions options = {},
                     Site site = Site::current());
};

}  // namespace towerflow::types
