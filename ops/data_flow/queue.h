#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "ops/operand_list.h"

namespace towerflow::types {

/// The components of a dequeued element. A queue of one component gives one tensor, to which this
/// converts: `Tensor x = queue.dequeue();` of several, `auto [x, y] =
/// queue.dequeue().unpack<2>();`.
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
  bool cancel_pending_enqueues = false;  ///< end the enqueues that wait with CancelledError
  std::string name{};
};

/// A queue in the graph; its elements live in a session. A cheap handle. (tf.QueueBase)
///
/// An element is a tuple of components with fixed dtypes and, if the queue says so, fixed shapes.
/// Enqueues wait while the queue is full, dequeues until there is enough; both are served in the
/// order in which they came. Waiting ends with CancelledError when the session closes.
///
/// | closed queue            | result                                                         |
/// |-------------------------|----------------------------------------------------------------|
/// | enqueue, enqueue_many   | CancelledError                                                 |
/// | dequeue, dequeue_many   | OutOfRangeError when too little is left, which stays inside    |
/// | dequeue_up_to           | what is left; OutOfRangeError when nothing is                  |
/// | close                   | CancelledError, unless it cancels pending enqueues             |
///
/// A record that a reader produced is admitted in the order of reading, whatever the threads.
class QueueBase {
 public:
  QueueBase() = default;
  /// The queue that a node is, of a graph that was imported. Throws ValueError for another node.
  static QueueBase of_ref(const Tensor& ref, Site site = Site::current());

  bool valid() const { return ref_.valid(); }
  const Tensor& queue_ref() const { return ref_; }
  const std::string& name() const { return ref_.op().name(); }
  const std::vector<DType>& dtypes() const;
  /// Shapes of the components; unknown ones where elements may differ.
  std::vector<Shape> shapes() const;

  /// Adds one element; literals take the dtype of their component.
  Operation enqueue(const OperandList& values, QueueOptions options = {},
                    Site site = Site::current()) const;
  /// Adds one element a row: components [n, ...] make n elements.
  Operation enqueue_many(const OperandList& values, QueueOptions options = {},
                         Site site = Site::current()) const;
  Components dequeue(QueueOptions options = {}, Site site = Site::current()) const;
  /// Takes n elements at once: components [n, ...]. Needs specified shapes when it runs.
  Components dequeue_many(const Operand& n, QueueOptions options = {},
                          Site site = Site::current()) const;
  /// The same, but content with fewer (at least one) at the end of a closed queue.
  Components dequeue_up_to(const Operand& n, QueueOptions options = {},
                           Site site = Site::current()) const;
  /// No more elements will come; runs after the enqueues that wait, unless it cancels them.
  Operation close(CloseOptions options = {}, Site site = Site::current()) const;
  /// Elements inside, int32 [].
  Tensor size(QueueOptions options = {}, Site site = Site::current()) const;
  /// Whether the queue is closed, bool [].
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
  std::vector<Shape> shapes{};  ///< one a component, fully known; empty for elements that differ
  std::string shared_name{};    ///< queues of one session with this name are one queue
  std::string name{};           ///< "fifo_queue"
};

/// A queue whose elements come out in the order in which they went in. `capacity` is the number of
/// elements it holds at most, -1 for no limit. (tf.FIFOQueue)
/// Throws ValueError: shapes that are not fully known, or as many as there are dtypes; capacity 0.
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

/// A queue whose elements come out in random order, one draw each from the first
/// `min_after_dequeue + 1` that are in it (fewer when it is closed). With a seed, the op's or the
/// graph's, what comes out depends on the seed and the order of admission alone, not on threads or
/// time. (tf.RandomShuffleQueue; TensorFlow draws from all that is in at that moment)
/// Errors: as FIFOQueue; InvalidArgumentError at run time unless 0 <= min_after_dequeue < capacity.
class RandomShuffleQueue : public QueueBase {
 public:
  RandomShuffleQueue() = default;
  RandomShuffleQueue(std::int64_t capacity, std::int64_t min_after_dequeue,
                     std::vector<DType> dtypes, RandomShuffleQueueOptions options = {},
                     Site site = Site::current());
};

}  // namespace towerflow::types
