// Runs a program of elementwise steps over pieces that stay in the first-level cache.
#include "ops/elementwise/kernel.h"

#include <algorithm>
#include <map>

#include "core/device/cpu/launch.h"
#include "ops/elementwise/loops.h"
#include "ops/elementwise/program.h"
#include "ops/kernel_dims.h"
#include "ops/math/broadcast_operand.h"

namespace towerflow {
namespace {

/// Largest piece: at four bytes an element, eight results fit a first-level cache of 32 KiB.
constexpr std::int64_t kPieceElements = 1024;

/// The location of an operand or result of a step.
struct OperandLocation {
  enum class Kind { input, number, buffer };
  Kind kind = Kind::input;
  std::size_t index = 0;   // of the input or the buffer
  std::int64_t bytes = 0;  // of an element
};

struct PreparedStep {
  StepLoop loop;
  std::vector<OperandLocation> operands;
  OperandLocation out;  // kind input: the output of the op
};

/// An input that is expanded to the output's shape, piece by piece.
struct Expansion {
  std::size_t input = 0;
  std::size_t buffer = 0;
  std::int64_t bytes = 0;
  BroadcastOperand repeated;
};

class ProgramKernel final : public CpuKernel {
 public:
  explicit ProgramKernel(const KernelRequest& request)
      : program_(request.attributes<ElementwiseProgram>()),
        inputs_(request.inputs),
        elements_(program_.shape.elements()) {
    if (elements_ == 0) return;
    find_last_uses();
    for (std::size_t i = 0; i < program_.steps.size(); ++i) prepare(i);
    for (const Expansion& expansion : expansions_) {
      const std::int64_t period = expansion.repeated.period();
      if (period <= kPieceElements) piece_ = std::min(piece_, kPieceElements / period * period);
    }
  }

  int slices(int) const override { return partial_slices(elements_); }
  bool may_fail() const override { return false; }  // `step_loop` returns no loop that fails
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices(0)) * slice_bytes();
  }

  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    std::byte* buffers = workspace + static_cast<std::size_t>(slice) * slice_bytes();
    const SliceRange all = slice_range(elements_, slices(0), slice, 64);
    for (std::int64_t at = all.begin; at < all.end; at += piece_) {
      const std::int64_t n = std::min(piece_, all.end - at);
      for (const Expansion& expansion : expansions_) {
        // If the period divides the piece, the first expansion is valid for all pieces.
        if (at > all.begin && piece_ % expansion.repeated.period() == 0) continue;
        expand(expansion, inputs, buffers, at, n);
      }
      for (const PreparedStep& step : steps_) {
        const auto operand = [&](std::size_t i) -> const void* {
          const OperandLocation& place = step.operands[i];
          if (place.kind == OperandLocation::Kind::buffer)
            return buffers + place.index * buffer_bytes();
          const auto* input = static_cast<const std::byte*>(inputs[place.index]);
          return place.kind == OperandLocation::Kind::number ? input : input + at * place.bytes;
        };
        void* out = step.out.kind == OperandLocation::Kind::buffer
                        ? buffers + step.out.index * buffer_bytes()
                        : static_cast<std::byte*>(outputs[0]) + at * step.out.bytes;
        if (const auto* unary = std::get_if<UnaryLoop>(&step.loop)) {
          (*unary)(operand(0), out, n);
        } else if (const auto* binary = std::get_if<BinaryLoops>(&step.loop)) {
          loop_for(*binary, step)(operand(0), operand(1), out, n);
        } else {
          std::get<SelectLoop>(step.loop)(operand(0), operand(1), operand(2), out, n);
        }
      }
    }
  }

  /// Returns the inputs whose memory the output may reuse: those of its shape and element size.
  /// Each piece of such an input is read by the step that writes that piece of the output, or
  /// before.
  std::vector<InPlacePair> in_place(const TensorDesc& output) const {
    std::vector<InPlacePair> pairs;
    if (elements_ == 0 || program_.steps.back().op == "Cast") return pairs;  // other element sizes
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (is_full(i) && dtype_size(inputs_[i].dtype) == dtype_size(output.dtype)) {
        pairs.push_back({0, static_cast<int>(i)});
      }
    }
    return pairs;
  }

 private:
  std::size_t buffer_bytes() const {
    return static_cast<std::size_t>((std::min(kPieceElements, elements_) * widest_ + 63) / 64 * 64);
  }
  std::size_t slice_bytes() const { return buffers_ * buffer_bytes(); }
  bool is_full(std::size_t input) const { return inputs_[input].shape.elements() == elements_; }
  static std::int64_t size_of(DType dtype) { return static_cast<std::int64_t>(dtype_size(dtype)); }

  static BinaryLoops::Loop loop_for(const BinaryLoops& loops, const PreparedStep& step) {
    if (step.operands[0].kind == OperandLocation::Kind::number) return loops.scalar_left;
    if (step.operands[1].kind == OperandLocation::Kind::number) return loops.scalar_right;
    return loops.both;
  }

  /// Returns whether a loop reads operand `place` as one number, without its expansion.
  static bool takes_number(const StepLoop& loop, std::size_t place) {
    const auto* binary = std::get_if<BinaryLoops>(&loop);
    return binary != nullptr &&
           (place == 0 ? binary->scalar_left : binary->scalar_right) != nullptr;
  }

  void find_last_uses() {
    last_use_.assign(program_.steps.size(), 0);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      widest_ = std::max(widest_, size_of(program_.steps[i].dtype));
      for (const ElementwiseOperand operand : program_.steps[i].operands) {
        if (operand.is_step) last_use_[static_cast<std::size_t>(operand.index)] = i;
      }
    }
    for (const TensorDesc& input : inputs_) widest_ = std::max(widest_, size_of(input.dtype));
  }

  void prepare(std::size_t index) {
    const ElementwiseStep& step = program_.steps[index];
    PreparedStep made;
    std::vector<DType> dtypes;
    for (const ElementwiseOperand operand : step.operands) {
      const auto i = static_cast<std::size_t>(operand.index);
      dtypes.push_back(operand.is_step ? program_.steps[i].dtype : inputs_[i].dtype);
    }
    made.loop = step_loop(step.op, dtypes, step.dtype).value();
    bool one_number = false;  // binary loops take at most one scalar
    for (std::size_t place = 0; place < step.operands.size(); ++place) {
      const auto i = static_cast<std::size_t>(step.operands[place].index);
      const std::int64_t bytes = size_of(dtypes[place]);
      if (step.operands[place].is_step) {
        made.operands.push_back({OperandLocation::Kind::buffer, buffer_of_[i], bytes});
      } else if (is_full(i)) {
        made.operands.push_back({OperandLocation::Kind::input, i, bytes});
      } else if (inputs_[i].shape.elements() == 1 && !one_number &&
                 takes_number(made.loop, place)) {
        one_number = true;
        made.operands.push_back({OperandLocation::Kind::number, i, bytes});
      } else {
        made.operands.push_back({OperandLocation::Kind::buffer, expansion_buffer(i), bytes});
      }
    }
    const bool last = index + 1 == program_.steps.size();
    made.out = {last ? OperandLocation::Kind::input : OperandLocation::Kind::buffer,
                last ? 0 : free_buffer(), size_of(step.dtype)};
    buffer_of_.push_back(made.out.index);
    for (const ElementwiseOperand operand : step.operands) release(operand, index);
    steps_.push_back(std::move(made));
  }

  std::size_t free_buffer() {
    if (free_.empty()) return buffers_++;
    const std::size_t buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  /// Frees the buffer of a result that no later step reads. A result read twice is freed only once.
  void release(ElementwiseOperand operand, std::size_t index) {
    const auto i = static_cast<std::size_t>(operand.index);
    if (!operand.is_step || last_use_[i] != index) return;
    if (std::find(free_.begin(), free_.end(), buffer_of_[i]) != free_.end()) return;
    free_.push_back(buffer_of_[i]);
  }

  std::size_t expansion_buffer(std::size_t input) {
    for (const Expansion& expansion : expansions_) {
      if (expansion.input == input) return expansion.buffer;
    }
    // Has its own buffer, since its content is kept from piece to piece.
    expansions_.push_back({input, buffers_++, size_of(inputs_[input].dtype),
                           BroadcastOperand(inputs_[input].shape, program_.shape)});
    return expansions_.back().buffer;
  }

  void expand(const Expansion& expansion, const void* const* inputs, std::byte* buffers,
              std::int64_t at, std::int64_t n) const {
    dispatch_copyable(inputs_[expansion.input].dtype, [&]<class T>() {
      if constexpr (std::is_trivially_copyable_v<T>) {
        expansion.repeated.copy(static_cast<const T*>(inputs[expansion.input]),
                                reinterpret_cast<T*>(buffers + expansion.buffer * buffer_bytes()),
                                at, n);
      }
    });
  }

  ElementwiseProgram program_;
  std::vector<TensorDesc> inputs_;
  std::int64_t elements_;
  std::int64_t widest_ = 1;
  std::int64_t piece_ = kPieceElements;
  std::vector<PreparedStep> steps_;
  std::vector<Expansion> expansions_;
  std::size_t buffers_ = 0;
  std::vector<std::size_t> free_, last_use_, buffer_of_;
};

}  // namespace

std::unique_ptr<PreparedKernel> elementwise_program_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  auto kernel = std::make_unique<ProgramKernel>(request);
  std::vector<InPlacePair> pairs = kernel->in_place(request.outputs[0]);
  return sliced_kernel(std::move(kernel), std::move(pairs));
}

}  // namespace towerflow
