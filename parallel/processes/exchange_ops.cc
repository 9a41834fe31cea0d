#include "parallel/processes/exchange_ops.h"

#include <algorithm>
#include <cstring>
#include <iterator>
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
const std::shared_ptr<E>& exchange_in_run(const LaunchArgs& args) {
  auto* of_run = dynamic_cast<ExchangeInRun<E>*>(*args.input<Resource*>(0));
  if (of_run == nullptr) throw errors::InvalidArgumentError("the resource is not an exchange");
  return of_run->exchange;
}

template <class E>
void start_in_run(const LaunchArgs& args, const std::shared_ptr<E>& exchange) {
  process_group().start(exchange);
  *args.output<Resource*>(0) = &args.run->objects->add<ExchangeInRun<E>>(exchange);
}

/// The exchanges of a node: one for runs that follow one another, more for runs at the same time.
class NodeExchanges final : public Resource {
 public:
  /// Returns an exchange that no run uses.
  std::shared_ptr<MeanExchange> take(const ExchangeAttrs& attrs, DType dtype,
                                     std::int64_t elements) {
    const std::lock_guard lock(mutex_);
    const auto is_free = [](const Item& item) { return item.exchange.use_count() == 1; };
    // The number of elements changes with a shape that only the run knows.
    std::erase_if(items_, [&](const Item& item) {
      return is_free(item) && item.exchange->elements() != elements;
    });
    auto item = std::find_if(items_.begin(), items_.end(), is_free);
    if (item == items_.end()) {
      items_.push_back({make_mean_exchange(process_group(), attrs.what, attrs.tag, dtype, elements,
                                           attrs.givers)});
      item = std::prev(items_.end());
    }
    item->numbers = item->exchange->numbers();
    return item->exchange;
  }

  /// Returns the exchange in whose memory for numbers an input lies, at `offset`; null if in none.
  std::shared_ptr<MeanExchange> with_input(const std::byte* input, std::size_t offset) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(items_.begin(), items_.end(), [&](const Item& item) {
      return item.numbers + offset == input;
    });
    return found == items_.end() ? nullptr : found->exchange;
  }

 private:
  struct Item {
    std::shared_ptr<MeanExchange> exchange;
    std::byte* numbers = nullptr;  ///< for the run that took it last
  };
  std::mutex mutex_;
  std::vector<Item> items_;
};

/// Operands one after another in a buffer, each at a multiple of the alignment of values, and
/// copies between them and the buffer, in slices.
class PackedOperands {
 public:
  explicit PackedOperands(std::span<const TensorDesc> operands) {
    for (const TensorDesc& operand : operands) {
      sizes_.push_back(operand.bytes());
      offsets_.push_back(bytes_);
      bytes_ += (operand.bytes() + Array::kAlignment - 1) / Array::kAlignment * Array::kAlignment;
    }
  }
  std::size_t size() const { return sizes_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t offset(std::size_t operand) const { return offsets_[operand]; }

  /// Calls `copy(operand, offset in the operand, offset in the buffer, bytes)` for parts of equal
  /// size on the threads of the queue.
  template <class Copy>
  void run(Queue& queue, const Copy& copy) const {
    const auto total = static_cast<std::int64_t>(bytes_);
    const int slices = loop_slices(total / 4);
    static_cast<CpuQueue&>(queue).pool().parallel(slices, [&](int slice) {
      const SliceRange range = slice_range(total, slices, slice, 64);
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const std::size_t begin = offsets_[i], end = begin + sizes_[i];
        const std::size_t from = std::max(begin, static_cast<std::size_t>(range.begin));
        const std::size_t to = std::min(end, static_cast<std::size_t>(range.end));
        if (from < to) copy(i, from - begin, from, to - from);
      }
    });
  }

 private:
  std::vector<std::size_t> sizes_, offsets_;
  std::size_t bytes_ = 0;
};

/// Gives the gradients to an exchange. Those that lie elsewhere, such as fed values, constants and
/// what comes from an accelerator, are copied; the others are computed in its memory for numbers.
class MeanStartKernel final : public PreparedKernel {
 public:
  explicit MeanStartKernel(const KernelRequest& request)
      : attrs_(request.attributes<ExchangeAttrs>()),
        node_(request.node),
        dtype_(request.inputs[0].dtype),
        operands_(request.inputs) {}

  bool has_input_memory() const override { return true; }
  std::shared_ptr<void> input_memory(ResourceStore& resources,
                                     std::span<void*> addresses) const override {
    auto exchange = take(exchanges_in(resources));
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      addresses[i] = exchange->numbers() + operands_.offset(i);
    }
    return exchange;
  }

  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    NodeExchanges& exchanges = exchanges_in(args.run->resources);
    std::shared_ptr<MeanExchange> exchange;
    for (std::size_t i = 0; i < operands_.size() && exchange == nullptr; ++i) {
      exchange = exchanges.with_input(args.input<std::byte>(i), operands_.offset(i));
    }
    if (exchange == nullptr) exchange = take(exchanges);
    copy_others(queue, args, exchange->numbers());
    start_in_run(args, exchange);
  }

 private:
  NodeExchanges& exchanges_in(ResourceStore& resources) const {
    return resources.resource<NodeExchanges>(node_,
                                             [] { return std::make_unique<NodeExchanges>(); });
  }

  std::shared_ptr<MeanExchange> take(NodeExchanges& exchanges) const {
    return exchanges.take(attrs_, dtype_,
                          static_cast<std::int64_t>(operands_.bytes() / dtype_size(dtype_)));
  }

  /// Copies the gradients that are not in the memory of the exchange.
  void copy_others(Queue& queue, const LaunchArgs& args, std::byte* to) const {
    const auto is_elsewhere = [&](std::size_t i) {
      return args.input<std::byte>(i) != to + operands_.offset(i);
    };
    bool any = false;
    for (std::size_t i = 0; i < operands_.size(); ++i) any |= is_elsewhere(i);
    if (!any) return;
    operands_.run(queue, [&](std::size_t i, std::size_t from, std::size_t at, std::size_t bytes) {
      if (is_elsewhere(i)) std::memcpy(to + at, args.input<std::byte>(i) + from, bytes);
    });
  }

  ExchangeAttrs attrs_;
  std::string node_;
  DType dtype_;
  PackedOperands operands_;
};

/// Waits for an exchange while other threads may use this one's core.
template <class E>
std::shared_ptr<E> awaited_exchange(Queue& queue, const LaunchArgs& args) {
  const std::shared_ptr<E> exchange = exchange_in_run<E>(args);
  const ThreadPool::Blocked idle(static_cast<CpuQueue&>(queue).pool());
  process_group().wait(*exchange, &args.run->cancellation);
  return exchange;
}

/// Gives the means where they are. Those of another memory or of a shape that only the run knows
/// are copied.
class MeanEndKernel final : public PreparedKernel {
 public:
  explicit MeanEndKernel(const KernelRequest& request)
      : outputs_(request.outputs), operands_(request.outputs) {}

  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    const auto exchange = awaited_exchange<MeanExchange>(queue, args);
    const std::byte* const means = exchange->means();
    bool copies = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (args.outputs[i] != nullptr) {
        copies = true;
        continue;
      }
      void* at = const_cast<std::byte*>(means + operands_.offset(i));
      args.arrays->give_output(
          i, Array(outputs_[i].dtype, outputs_[i].shape, std::shared_ptr<void>(exchange, at)));
    }
    if (!copies) return;
    operands_.run(queue, [&](std::size_t i, std::size_t to, std::size_t at, std::size_t bytes) {
      if (args.outputs[i] != nullptr) {
        std::memcpy(args.output<std::byte>(i) + to, means + at, bytes);
      }
    });
  }

 private:
  std::vector<TensorDesc> outputs_;
  PackedOperands operands_;
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
    const auto exchange = awaited_exchange<GatherExchange>(queue, args);
    const auto& strings = exchange->strings();
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
  const auto add = [&](const char* name, ArgTexts inputs, ArgTexts outputs, ShapeRule shape,
                       std::vector<int> gives = {}) {
    registry.add({.name = name,
                  .inputs = std::move(inputs),
                  .outputs = std::move(outputs),
                  .attrs = attributes<ExchangeAttrs>(),
                  .shape = std::move(shape),
                  .gradient = none,
                  .effect = Effect::stateful,
                  .gives = std::move(gives)});
  };
  add(kMeanStart, {"gradients: N * T"}, {"handle: resource"}, exchange_start_shape);
  add(kMeanEnd, {"handle: resource", "gradients: N * T"}, {"means: N * T"}, mean_end_shape,
      {OpDef::kEach});
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
