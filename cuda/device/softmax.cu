// Softmax, its logarithm, their gradients and the cross entropies, over the rows of [rows,
// classes]. `group` threads work on a row: 32, or 256 for long rows. Blocks have 256 threads.
// 16-bit numbers are computed as float.
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

/// A row of logits, seen by one thread of the group.
template <class T>
struct Row {
  const RowGroup& group;
  int64 classes;
  WarpNumbers<T>& shared;

  template <class R, class F>
  TOWERFLOW_DEVICE T reduce(bool active, F value_at) const {
    T total = R::start();
    for (int64 j = group.thread; active && j < classes; j += group.size) {
      total = R::join(total, value_at(j));
    }
    return group.template reduce<R>(total, shared);
  }
  template <class F>
  TOWERFLOW_DEVICE void each(bool active, F visit) const {
    for (int64 j = group.thread; active && j < classes; j += group.size) visit(j);
  }
};

/// Calls `f(row, number, active)` for the rows of the thread's group; all threads of a block make
/// the same number of turns, since they meet in each.
template <class T, class F>
TOWERFLOW_DEVICE void for_rows(int64 rows, int64 classes, int threads, F f) {
  TOWERFLOW_SHARED(WarpNumbers<T>, shared);
  const RowGroup group(threads);
  const Row<T> row{group, classes, shared};
  for (int64 first = 0; first < rows; first += group.rows_at_once) {
    f(row, first + group.row, first + group.row < rows);
  }
}

template <class T>
TOWERFLOW_DEVICE void softmax(const T* x, T* y, int64 rows, int64 classes, int threads,
                              bool logarithm) {
  using C = Compute<T>;
  for_rows<C>(rows, classes, threads, [=](const Row<C>& row, int64 i, bool active) {
    const T* in = x + i * classes;
    T* out = y + i * classes;
    const C largest = row.template reduce<Max<C>>(active, [=](int64 j) { return widen(in[j]); });
    const C sum = row.template reduce<Sum<C>>(
        active, [=](int64 j) { return std::exp(widen(in[j]) - largest); });
    const C log_sum = std::log(sum);
    row.each(active, [=](int64 j) {
      out[j] = narrow<T>(logarithm ? widen(in[j]) - largest - log_sum
                                   : std::exp(widen(in[j]) - largest) / sum);
    });
  });
}

/// dx = (dy - sum(dy y)) y, or dy - sum(dy) exp(y) for the logarithm.
template <class T>
TOWERFLOW_DEVICE void softmax_grad(const T* dy, const T* y, T* dx, int64 rows, int64 classes,
                                   int threads, bool logarithm) {
  using C = Compute<T>;
  for_rows<C>(rows, classes, threads, [=](const Row<C>& row, int64 i, bool active) {
    const T *in = dy + i * classes, *result = y + i * classes;
    T* out = dx + i * classes;
    const C sum = row.template reduce<Sum<C>>(active, [=](int64 j) {
      return logarithm ? widen(in[j]) : widen(in[j]) * widen(result[j]);
    });
    row.each(active, [=](int64 j) {
      out[j] = narrow<T>(logarithm ? widen(in[j]) - sum * std::exp(widen(result[j]))
                                   : (widen(in[j]) - sum) * widen(result[j]));
    });
  });
}

/// loss = log(sum of exp) - logit of the label, dlogits = softmax - 1 at the label. A label outside
/// of [0, classes) gives NaN and sets *error.
template <class T, class Label>
TOWERFLOW_DEVICE void sparse_cross_entropy(const T* logits, const Label* labels, T* loss,
                                           T* dlogits, DataError* error, int64 rows, int64 classes,
                                           int threads) {
  using C = Compute<T>;
  for_rows<C>(rows, classes, threads, [=](const Row<C>& row, int64 i, bool active) {
    const T* in = logits + i * classes;
    T* out = dlogits + i * classes;
    const C largest = row.template reduce<Max<C>>(active, [=](int64 j) { return widen(in[j]); });
    const C sum = row.template reduce<Sum<C>>(
        active, [=](int64 j) { return std::exp(widen(in[j]) - largest); });
    const int64 label = active ? static_cast<int64>(labels[i]) : 0;
    const bool valid = label >= 0 && label < classes;
    const C wrong = std::numeric_limits<C>::quiet_NaN();
    row.each(active, [=](int64 j) {
      out[j] = narrow<T>(valid ? std::exp(widen(in[j]) - largest) / sum - (j == label ? C(1) : C(0))
                               : wrong);
    });
    if (!active || row.group.thread != 0) return;
    loss[i] = narrow<T>(valid ? std::log(sum) - (widen(in[label]) - largest) : wrong);
    if (!valid) error->set(label, i);
  });
}

/// loss = sum of labels (log(sum of exp) - logits), dlogits = softmax - labels.
template <class T>
TOWERFLOW_DEVICE void cross_entropy(const T* logits, const T* labels, T* loss, T* dlogits,
                                    int64 rows, int64 classes, int threads) {
  using C = Compute<T>;
  for_rows<C>(rows, classes, threads, [=](const Row<C>& row, int64 i, bool active) {
    const T *in = logits + i * classes, *wanted = labels + i * classes;
    T* out = dlogits + i * classes;
    const C largest = row.template reduce<Max<C>>(active, [=](int64 j) { return widen(in[j]); });
    const C sum = row.template reduce<Sum<C>>(
        active, [=](int64 j) { return std::exp(widen(in[j]) - largest); });
    const C log_sum = std::log(sum);
    const C total = row.template reduce<Sum<C>>(
        active, [=](int64 j) { return widen(wanted[j]) * (log_sum - (widen(in[j]) - largest)); });
    row.each(active, [=](int64 j) {
      out[j] = narrow<T>(std::exp(widen(in[j]) - largest) / sum - widen(wanted[j]));
    });
    if (active && row.group.thread == 0) loss[i] = narrow<T>(total);
  });
}

}  // namespace

#define TOWERFLOW_SPARSE(name, T, label_name, Label)                                              \
  TOWERFLOW_MEETING_KERNEL(SparseSoftmaxCrossEntropyWithLogits_##name##_##label_name, 256,        \
                           sizeof(WarpNumbers<Compute<T>>), const T* logits, const Label* labels, \
                           T* loss, T* dlogits, DataError* error, int64 rows, int64 classes,      \
                           int group) {                                                           \
    sparse_cross_entropy(logits, labels, loss, dlogits, error, rows, classes, group);             \
  }
#define TOWERFLOW_ROWS(name, T)                                                                    \
  TOWERFLOW_MEETING_KERNEL(Softmax_##name, 256, sizeof(WarpNumbers<Compute<T>>), const T* x, T* y, \
                           int64 rows, int64 classes, int group) {                                 \
    softmax(x, y, rows, classes, group, false);                                                    \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(LogSoftmax_##name, 256, sizeof(WarpNumbers<Compute<T>>), const T* x,    \
                           T* y, int64 rows, int64 classes, int group) {                           \
    softmax(x, y, rows, classes, group, true);                                                     \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(SoftmaxGrad_##name, 256, sizeof(WarpNumbers<Compute<T>>), const T* dy,  \
                           const T* y, T* dx, int64 rows, int64 classes, int group) {              \
    softmax_grad(dy, y, dx, rows, classes, group, false);                                          \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(LogSoftmaxGrad_##name, 256, sizeof(WarpNumbers<Compute<T>>),            \
                           const T* dy, const T* y, T* dx, int64 rows, int64 classes, int group) { \
    softmax_grad(dy, y, dx, rows, classes, group, true);                                           \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(SoftmaxCrossEntropyWithLogits_##name, 256,                              \
                           sizeof(WarpNumbers<Compute<T>>), const T* logits, const T* labels,      \
                           T* loss, T* dlogits, int64 rows, int64 classes, int group) {            \
    cross_entropy(logits, labels, loss, dlogits, rows, classes, group);                            \
  }                                                                                                \
  TOWERFLOW_SPARSE(name, T, int32, std::int32_t)                                                   \
  TOWERFLOW_SPARSE(name, T, int64, int64)

TOWERFLOW_ROWS(float32, float)
TOWERFLOW_ROWS(float64, double)
TOWERFLOW_ROWS(float16, Half)
TOWERFLOW_ROWS(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
