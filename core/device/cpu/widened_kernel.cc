#include "core/device/cpu/widened_kernel.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/device/cpu/launch.h"
#include "core/device/short_operands.h"
#include "core/graph/op_def.h"
#include "core/graph/short_float.h"

namespace towerflow {
namespace {

/// Turns uniform random numbers in float32 into those that TensorFlow draws in a short dtype. Both
/// are the lower bits of one random word: 23 of them for float32, 10 or 7 here.
void draw_short(DType dtype, const float* from, std::uint16_t* to, std::int64_t n) {
  const int bits = dtype == DType::float16 ? 10 : 7;
  const auto mask = (std::uint32_t{1} << bits) - 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto word = static_cast<std::uint32_t>(from[i] * 0x1p23F);
    const float number = static_cast<float>(word & mask) / static_cast<float>(mask + 1);
    narrow(dtype, &number, to + i, 1);
  }
}

/// Converts numbers between a short dtype and float32.
class Conversion final : public CpuKernel {
 public:
  enum class Kind { widening, narrowing, drawing };

  Conversion(DType dtype, std::int64_t elements, Kind kind)
      : dtype_(dtype), elements_(elements), kind_(kind) {}
  int slices(int) const override { return loop_slices(elements_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange part = slice_range(elements_, slices(0), slice, 64);
    if (kind_ == Kind::widening) {
      widen(dtype_, static_cast<const std::uint16_t*>(inputs[0]) + part.begin,
            static_cast<float*>(outputs[0]) + part.begin, part.size());
    } else {
      (kind_ == Kind::drawing ? draw_short : narrow)(
          dtype_, static_cast<const float*>(inputs[0]) + part.begin,
          static_cast<std::uint16_t*>(outputs[0]) + part.begin, part.size());
    }
  }

 private:
  DType dtype_;
  std::int64_t elements_;
  Kind kind_;
};

/// Gives a kernel float32 memory for the short outputs whose shapes it finds; `round` then rounds
/// them into the memory of the run.
class WideArrays final : public LaunchArrays {
 public:
  WideArrays(LaunchArrays* arrays, const std::vector<TensorDesc>& outputs)
      : arrays_(arrays), outputs_(outputs), wide_(outputs.size()) {}

  void* allocate(std::size_t index, const Shape& shape) override {
    if (!is_short_float(outputs_[index].dtype)) return arrays_->allocate(index, shape);
    wide_[index] = Array(DType::float32, shape);
    return wide_[index].raw();
  }
  Array keep_input(std::size_t index) override { return arrays_->keep_input(index); }
  void give_output(std::size_t index, const Array& value) override {
    arrays_->give_output(index, value);
  }
  void round() {
    for (std::size_t i = 0; i < wide_.size(); ++i) {
      if (wide_[i].dtype() != DType::float32) continue;
      narrow(outputs_[i].dtype, wide_[i].data<float>(),
             static_cast<std::uint16_t*>(arrays_->allocate(i, wide_[i].shape())),
             wide_[i].elements());
    }
  }

 private:
  LaunchArrays* arrays_;
  const std::vector<TensorDesc>& outputs_;
  std::vector<Array> wide_;
};

class WidenedKernel final : public PreparedKernel {
 public:
  WidenedKernel(std::unique_ptr<PreparedKernel> inner, const KernelRequest& request)
      : inner_(std::move(inner)), inputs_(request.inputs.size()), outputs_(request.outputs) {
    inner_workspace_ = layout_.add(inner_->workspace_bytes());
    pointers_ = layout_.add((inputs_ + outputs_.size()) * sizeof(void*));
    const bool writes = !request.op->written.empty();
    const bool draws = request.op->name == "RandomUniform";
    for (std::size_t i = 0; i < inputs_; ++i) {
      const TensorDesc& desc = request.inputs[i];
      if (!is_short_float(desc.dtype)) continue;
      add(before_, i, desc, Conversion::Kind::widening);
      if (contains_input(request.op->written, i)) {
        after_.push_back(
            {i, before_.back().at, conversion(desc, Conversion::Kind::narrowing), true});
      }
    }
    // The results of an op that writes variables are these variables.
    for (std::size_t i = 0; i < outputs_.size() && !writes; ++i) {
      if (!is_short_float(outputs_[i].dtype)) continue;
      if (outputs_[i].shape.fully_known()) {
        add(after_, i, outputs_[i],
            draws ? Conversion::Kind::drawing : Conversion::Kind::narrowing);
      } else {
        late_ = true;
      }
    }
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  bool may_fail() const override { return inner_->may_fail(); }

  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    auto** const inputs = reinterpret_cast<const void**>(args.workspace + pointers_);
    auto** const outputs =
        reinterpret_cast<void**>(args.workspace + pointers_ + inputs_ * sizeof(void*));
    std::copy_n(args.inputs, inputs_, inputs);
    std::copy_n(args.outputs, outputs_.size(), outputs);
    for (const Converted& one : before_) {
      std::byte* const wide = args.workspace + one.at;
      convert(queue, *one.kernel, args.inputs[one.operand], wide);
      inputs[one.operand] = wide;
    }
    for (const Converted& one : after_) {
      if (!one.is_variable) outputs[one.operand] = args.workspace + one.at;
    }
    LaunchArgs wide = args;
    wide.inputs = inputs;
    wide.outputs = outputs;
    wide.workspace = args.workspace + inner_workspace_;
    if (late_) {  // kernels that find shapes run on this thread
      WideArrays arrays(args.arrays, outputs_);
      wide.arrays = &arrays;
      enqueue_checked(*inner_, queue, wide);
      arrays.round();
    } else {
      enqueue_checked(*inner_, queue, wide);
    }
    for (const Converted& one : after_) {
      convert(queue, *one.kernel, args.workspace + one.at,
              one.is_variable ? args.variable<void>(one.operand) : args.outputs[one.operand]);
    }
  }

 private:
  struct Converted {
    std::size_t operand, at;  // its number, and where its float32 numbers are in the workspace
    std::unique_ptr<PreparedKernel> kernel;
    bool is_variable;
  };

  static std::unique_ptr<PreparedKernel> conversion(const TensorDesc& desc, Conversion::Kind kind) {
    return sliced_kernel(std::make_unique<Conversion>(desc.dtype, desc.shape.elements(), kind));
  }
  void add(std::vector<Converted>& to, std::size_t operand, const TensorDesc& desc,
           Conversion::Kind kind) {
    const auto bytes = static_cast<std::size_t>(desc.shape.elements()) * sizeof(float);
    to.push_back({operand, layout_.add(bytes), conversion(desc, kind), false});
  }
  static void convert(Queue& queue, const PreparedKernel& kernel, const void* from, void* to) {
    kernel.enqueue(queue, {.inputs = &from, .outputs = &to});
  }

  std::unique_ptr<PreparedKernel> inner_;
  std::size_t inputs_;
  std::vector<TensorDesc> outputs_;
  bool late_ = false;  // whether it finds the shapes of short outputs
  WorkspaceLayout layout_;
  std::size_t inner_workspace_ = 0, pointers_ = 0;
  std::vector<Converted> before_, after_;
};

}  // namespace

const KernelEntry& widened_entry(const KernelEntry& entry) {
  static std::mutex mutex;
  static auto* const made = new std::map<const KernelEntry*, std::unique_ptr<KernelEntry>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<KernelEntry>& twin = (*made)[&entry];
  if (twin == nullptr) {
    twin = std::make_unique<KernelEntry>(entry);
    twin->prepare = [&entry](const KernelRequest& request) -> std::unique_ptr<PreparedKernel> {
      auto inner = entry.prepare(widened(request));
      if (inner == nullptr) return nullptr;
      return std::make_unique<WidenedKernel>(std::move(inner), request);
    };
  }
  return *twin;
}

}  // namespace towerflow
