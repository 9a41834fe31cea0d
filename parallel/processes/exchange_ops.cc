#include "parallel/processes/exchange_ops.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/launch.h"
#include "core/device/cpu/thread_pool.h"
#include "core/device/run_objects.h"
#include "core/graph/op_def.h"
#include "ops/family.h"
#include "parallel/processes/exchange.h"
#include "parallel/processes/group.h"
#include "parallel/processes/mean_exchange.h"

namespace towerflow {
namespace {

using parallel::process_group;
using parallel::processes::ExchangeAttrs;
using parallel::processes::GatherExchange;
using parallel::processes::make_mean_exchange;
using parallel::processes::MeanExchange;

/// An exchange of a run. It outlives a run that fails, since messages may still use its buffer.
template <class E>
struct ExchangeInRun final : RunObject {
  explicit ExchangeInRun(std::shared_ptr<E> started) : exchange(std::move(started)) {}
  std::shared_ptr<E> exchange;
};

template <class E>
E& exchange_in_run(const LaunchArgs& args) {
  auto* of_run = dynamic_cast<ExchangeInRun<E>*>(*args.input<Resource*>(0));
  if (of_run == nullptr) throw errors::InvalidArgumentError("the resource is not an exchange");
  return *of_run->exchange;
}

template <class E>
void start_in_run(const LaunchArgs& args, const std::shared_ptr<E>& exchange) {
  process_group().start(exchange);
  *args.output<Resource*>(0) = &args.run->objects->add<ExchangeInRun<E>>(exchange);
}

/// The buffer of a node, which runs use one after another.
class ExchangeBuffer final : public Resource {
 public:
  std::shared_ptr<MeanExchange> take(const ExchangeAttrs& attrs, DType dtype,
                                     std::int64_t elements) {
    const std::lock_guard lock(mutex_);
    const bool fits =
        exchange_ != nullptr && exchange_.use_count() == 1 && exchange_->elements() == elements;
    if (!fits) {
      exchange_ =
          make_mean_exchange(process_group(), attrs.what, attrs.tag, dtype, elements, attrs.givers);
    }
    return exchange_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<MeanExchange> exchange_;
};

/// Copies between operands and a buffer in which they lie one after another, in slices.
class PackedCopies {
 public:
  explicit PackedCopies(std::span<const TensorDesc> operands) {
    for (const TensorDesc& operand : operands) sizes_.push_back(operand.bytes());
    for (const std::size_t size : sizes_) bytes_ += size;
  }
  std::size_t bytes() const { return bytes_; }

  /// Calls `copy(operand, offset in the operand, offset in the buffer, bytes)` for parts of equal
  /// size on the threads of the queue.
  template <class Copy>
  void run(Queue& queue, const Copy& copy) const {
    const auto total = static_cast<std::int64_t>(bytes_);
    const int slices = loop_slices(total / 4);
    static_cast<CpuQueue&>(queue).pool().parallel(slices, [&](int slice) {
      const SliceRange range = slice_range(total, slices, slice, 64);
      std::size_t begin = 0;  // of the operand in the buffer
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const std::size_t end = begin + sizes_[i];
        const std::size_t from = std::max(begin, static_cast<std::size_t>(range.begin));
        const std::size_t to = std::min(end, static_cast<std::size_t>(range.end));
        if (from < to) copy(i, from - begin, from, to - from);
        begin = end;
      }
    });
  }

 private:
  std::vector<std::size_t> sizes_;
  std::size_t bytes_ = 0;
};

class MeanStartKernel final : public PreparedKernel {
 public:
  explicit MeanStartKernel(const KernelRequest& request)
      : attrs_(request.attributes<ExchangeAttrs>()),
        node_(request.node),
        dtype_(request.inputs[0].dtype),
        copies_(request.inputs) {}

  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    auto& buffer = args.run->resources.resource<ExchangeBuffer>(
        node_, [] { return std::make_unique<ExchangeBuffer>(); });
    const auto exchange = buffer.take(
        attrs_, dtype_, static_cast<std::int64_t>(copies_.bytes() / dtype_size(dtype_)));
    std::byte* const to = exchange->numbers();
    copies_.run(queue, [&](std::size_t i, std::size_t from, std::size_t at, std::size_t bytes) {
      std::memcpy(to + at, args.input<std::byte>(i) + from, bytes);
    });
    start_in_run(args, exchange);
  }

 private:
  ExchangeAttrs attrs_;
  std::string node_;
  DType dtype_;
  PackedCopies copies_;
};

/// Waits for an exchange while other threads may use this one's core.
template <class E>
E& awaited_exchange(Queue& queue, const LaunchArgs& args) {
  E& exchange = exchange_in_run<E>(args);
  const ThreadPool::Blocked idle(static_cast<CpuQueue&>(queue).pool());
  process_group().wait(exchange, &args.run->cancellation);
  return exchange;
}

/// Copies bytes that begin at `at` of the pieces, one after another.
void copy_from_pieces(const std::vector<MeanExchange::Piece>& pieces, std::size_t at,
                      std::size_t bytes, std::byte* to) {
  for (const auto& [data, size] : pieces) {
    const std::size_t count = at < size ? std::min(bytes, size - at) : 0;
    if (count > 0) std::memcpy(to, data + at, count);
    to += count;
    bytes -= count;
    at -= std::min(at, size);
  }
}

class MeanEndKernel final : public PreparedKernel {
 public:
  explicit MeanEndKernel(const KernelRequest& request) : copies_(request.outputs) {
    for (int i = 0; i < static_cast<int>(request.outputs.size()); ++i) {
      in_place_.push_back({i, i + 1});
    }
  }
  std::vector<InPlacePair> in_place() const override { return in_place_; }

  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    const auto means = awaited_exchange<MeanExchange>(queue, args).means();
    copies_.run(queue, [&](std::size_t i, std::size_t to, std::size_t at, std::size_t bytes) {
      copy_from_pieces(means, at, bytes, args.output<std::byte>(i) + to);
    });
  }

 private:
  PackedCopies copies_;
  std::vector<InPlacePair> in_place_;
};

std::unique_ptr<PreparedKernel> rows_start_kernel(const KernelRequest& request) {
  return function_kernel([attrs = request.attributes<ExchangeAttrs>(),
                          values = request.inputs[0].bytes(),
                          indices = request.inputs[1].bytes()](const LaunchArgs& args) {
    std::string bytes(args.input<char>(1), indices);
    bytes.append(args.input<char>(0), values);
    start_in_run(args, std::make_shared<GatherExchange>(attrs.what, attrs.tag, std::move(bytes)));
  });
}

/// Unpacks the rows of all processes: of each, its indices and then its values.
class RowsEndKernel final : public PreparedKernel {
 public:
  explicit RowsEndKernel(const KernelRequest& request)
      : givers_(request.attributes<ExchangeAttrs>().givers.size()),
        values_(request.inputs[1]),
        indices_(request.inputs[2]),
        outputs_(request.outputs) {
    for (std::size_t i = 1; i < values_.shape.rank(); ++i) width_ *= values_.shape.size(i);
  }

  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    const auto& strings = awaited_exchange<GatherExchange>(queue, args).strings();
    const std::size_t index_bytes = dtype_size(indices_.dtype);
    const std::size_t row_bytes = static_cast<std::size_t>(width_) * dtype_size(values_.dtype);
    std::int64_t rows = 0;
    for (const std::string& one : strings) {
      rows += static_cast<std::int64_t>(one.size() / (index_bytes + row_bytes));
    }
    std::vector<Dim> dims{rows};
    for (std::size_t i = 1; i < values_.shape.rank(); ++i) dims.emplace_back(values_.shape.size(i));
    auto* values = static_cast<std::byte*>(args.output_memory(0, Shape(dims), outputs_[0].shape));
    auto* indices = static_cast<std::byte*>(args.output_memory(1, Shape{rows}, outputs_[1].shape));
    std::byte* const first = values;
    for (const std::string& one : strings) {
      const std::size_t count = one.size() / (index_bytes + row_bytes);
      std::memcpy(indices, one.data(), count * index_bytes);
      std::memcpy(values, one.data() + count * index_bytes, count * row_bytes);
      indices += count * index_bytes;
      values += count * row_bytes;
    }
    const std::size_t divisor = givers_ == 0 ? strings.size() : givers_;
    if (values_.dtype == DType::float32) {
      divide<float>(first, rows, divisor);
    } else {
      divide<double>(first, rows, divisor);
    }
  }

 private:
  template <class T>
  void divide(std::byte* values, std::int64_t rows, std::size_t by) const {
    T* at = reinterpret_cast<T*>(values);
    for (std::int64_t i = 0; i < rows * width_; ++i) at[i] /= static_cast<T>(by);
  }

  std::size_t givers_;  // 0: all processes
  TensorDesc values_, indices_;
  std::vector<TensorDesc> outputs_;
  std::int64_t width_ = 1;
};

void require_exchanged(const InferenceContext& context, std::size_t input) {
  const DType dtype = context.dtype(input);
  if (dtype == DType::float32 || dtype == DType::float64) return;
  context.fail_type(std::string("processes exchange float32 and float64, not ") +
                    dtype_name(dtype));
}

void exchange_start_shape(InferenceContext& context) {
  require_exchanged(context, 0);
  context.add_output(DType::resource, Shape{});
}

void mean_end_shape(InferenceContext& context) {
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    context.add_output(context.dtype(i), context.shape(i));
  }
}

void rows_end_shape(InferenceContext& context) {
  Shape values = context.shape(1);
  if (values.has_rank()) {
    std::vector<Dim> dims{None};
    for (std::size_t i = 1; i < values.rank(); ++i) dims.push_back(values[i]);
    values = Shape(dims);
  }
  context.add_output(context.dtype(1), values);
  context.add_output(context.dtype(2), Shape{None});
}

}  // namespace

static void register_process_exchange_ops(OpRegistry& registry) {
  using namespace parallel::processes;
  const NoGradient none{"it combines gradients of several processes"};
  const auto add = [&](const char* name, ArgTexts inputs, ArgTexts outputs, ShapeRule shape) {
    registry.add({.name = name,
                  .inputs = std::move(inputs),
                  .outputs = std::move(outputs),
                  .attrs = attributes<ExchangeAttrs>(),
                  .shape = std::move(shape),
                  .gradient = none,
                  .effect = Effect::stateful});
  };
  add(kMeanStart, {"gradients: N * T"}, {"handle: resource"}, exchange_start_shape);
  add(kMeanEnd, {"handle: resource", "gradients: N * T"}, {"means: N * T"}, mean_end_shape);
  add(kRowsStart, {"values: T", "indices: Index(I)"}, {"handle: resource"}, exchange_start_shape);
  add(kRowsEnd, {"handle: resource", "values: T", "indices: Index(I)"},
      {"all_values: T", "all_indices: I"}, rows_end_shape);
}

static void register_process_exchange_kernels(KernelTable& table) {
  using namespace parallel::processes;
  const auto add = [&](const char* op, auto prepare) {
    table.add({.op = op, .label = "exchange", .accepts = {}, .prepare = prepare});
  };
  add(kMeanStart, [](const KernelRequest& r) { return std::make_unique<MeanStartKernel>(r); });
  add(kMeanEnd, [](const KernelRequest& r) { return std::make_unique<MeanEndKernel>(r); });
  add(kRowsStart, rows_start_kernel);
  add(kRowsEnd, [](const KernelRequest& r) { return std::make_unique<RowsEndKernel>(r); });
}

OpFamily process_exchange_family() {
  return {.ops = register_process_exchange_ops,
          .kernels = register_process_exchange_kernels,
          .rules = parallel::processes::register_exchange_rules};
}

}  // namespace towerflow
