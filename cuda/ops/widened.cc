// Kernels for float32, run for float16 and bfloat16 where there are none of their own: numbers are
// converted before and after, as on the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/device/short_operands.h"
#include "core/graph/op_def.h"
#include "core/graph/short_float.h"
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

constexpr std::size_t kMost = 16;  // operands of an op

/// Numbers of an operand that are converted, and where their float32 form is in the workspace.
struct Converted {
  Converted(const Device& device, std::size_t number, const TensorDesc& desc, bool widens)
      : operand(number),
        elements(desc.shape.elements()),
        kernel(device.driver().kernel(
            widens ? fmt::format("Cast_{}_float32", dtype_name(desc.dtype))
                   : fmt::format("Cast_float32_{}", dtype_name(desc.dtype)))) {}
  std::size_t bytes() const {
    return rounded_to_pack(static_cast<std::size_t>(elements) * sizeof(float));
  }
  void run(CudaQueue& queue, const void* from, void* to) const {
    if (elements == 0) return;
    launch(queue, kernel, blocks_for(queue.device(), elements), from, to, elements);
  }

  std::size_t operand, at = 0;
  std::int64_t elements;
  cudaKernel_t kernel;
};

class WidenedKernel final : public CudaKernel {
 public:
  WidenedKernel(const Device& device, std::unique_ptr<PreparedKernel> inner,
                const KernelRequest& request)
      : inner_(std::move(inner)), bytes_(rounded_to_pack(inner_->workspace_bytes())) {
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      if (is_short_float(request.inputs[i].dtype))
        add(before_, {device, i, request.inputs[i], true});
    }
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      if (is_short_float(request.outputs[i].dtype))
        add(after_, {device, i, request.outputs[i], false});
    }
  }

  std::size_t workspace_bytes() const override { return bytes_; }
  bool may_fail() const override { return inner_->may_fail(); }
  bool at_once() const override { return inner().at_once(); }
  std::size_t parameter_bytes() const override { return inner().parameter_bytes(); }
  void set_parameters(const LaunchArgs& args, std::byte* parameters) const override {
    inner().set_parameters(args, parameters);
  }

  void run(CudaQueue& queue, const LaunchArgs& args) const override {
    std::array<const void*, kMost> from{};
    std::array<void*, kMost> to{};
    std::copy_n(args.inputs, inputs, from.begin());
    std::copy_n(args.outputs, outputs, to.begin());
    for (const Converted& one : before_) {
      one.run(queue, args.inputs[one.operand], args.workspace + one.at);
      from[one.operand] = args.workspace + one.at;
    }
    for (const Converted& one : after_) to[one.operand] = args.workspace + one.at;
    LaunchArgs wide = args;
    wide.inputs = from.data();
    wide.outputs = to.data();
    inner().run(queue, wide);
    for (const Converted& one : after_) {
      one.run(queue, args.workspace + one.at, args.outputs[one.operand]);
    }
  }

 private:
  const CudaKernel& inner() const { return static_cast<const CudaKernel&>(*inner_); }
  void add(std::vector<Converted>& to, Converted one) {
    one.at = bytes_;
    bytes_ += one.bytes();
    to.push_back(one);
  }

  std::unique_ptr<PreparedKernel> inner_;
  std::size_t bytes_;  // of the workspace: that of the kernel, then the converted numbers
  std::vector<Converted> before_, after_;
};

/// Returns whether a kernel may run between conversions. Updates of variables are launched later,
/// several at once, and run on the CPU instead. So do uniform random numbers, which in a short
/// dtype are not the rounded float32 ones.
bool is_widened(const KernelRequest& request) {
  return request.op->written.empty() && request.op->name != "RandomUniform" &&
         request.inputs.size() <= kMost && request.outputs.size() <= kMost &&
         computes_short_floats(request);
}

}  // namespace

void add_widened_kernels(CudaEntries& entries) {
  const CudaEntries all = entries;
  for (const CudaEntry& entry : all) {
    CudaEntry twin = entry;
    twin.accepts = [accepts = entry.accepts](const KernelRequest& request) {
      return is_widened(request) && (!accepts || accepts(widened(request)));
    };
    twin.prepare = [prepare = entry.prepare](
                       Device& device,
                       const KernelRequest& request) -> std::unique_ptr<PreparedKernel> {
      auto inner = prepare(device, widened(request));
      if (inner == nullptr) return nullptr;
      return std::make_unique<WidenedKernel>(device, std::move(inner), request);
    };
    if (entry.works_on) {
      twin.works_on = [works_on = entry.works_on](const Device& device,
                                                  const KernelRequest& request) {
        return works_on(device, widened(request));
      };
    }
    entries.push_back(std::move(twin));
  }
}

}  // namespace towerflow::cuda
