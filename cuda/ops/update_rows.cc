// Updates of the rows that IndexedSlices select: the slices of a row are added up in their order,
// starting from zero, before the row is updated once.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/update.h"

namespace towerflow::cuda {
namespace {

/// Slices of one tensor, or of several towers, one tower behind the other.
class TowerSlices {
 public:
  /// `first` is the first input with values.
  TowerSlices(Device& device, const KernelRequest& request, std::size_t first,
              const GradientForm& form, std::int64_t width)
      : form_(form),
        multiply_(device.kernel(kernel_name("Mul", request.inputs[0].dtype))),
        divide_(device.kernel(kernel_name("RealDiv", request.inputs[0].dtype))),
        width_(width),
        element_(dtype_size(request.inputs[0].dtype)) {
    for (std::size_t tower = 0; tower < towers(); ++tower) {
      slices_.push_back(request.inputs[first + tower].shape.size(0));
      all_ += slices_.back();
    }
    if (form.divisor != 1) {
      throw errors::UnimplementedError("slices on a GPU are divided by an input");
    }
  }
  std::int64_t slices() const { return all_; }
  bool in_place() const { return towers() == 1 && !form_.weighted && !form_.divided; }
  std::size_t workspace_bytes() const {
    return in_place() ? 0 : rounded_to_pack(static_cast<std::size_t>(all_ * width_) * element_);
  }
  /// Returns all slices, multiplied and divided, from the inputs of the form.
  const void* run(CudaQueue& queue, const void* const* inputs, std::byte* workspace) const {
    if (in_place()) return inputs[0];
    std::byte* to = workspace;
    for (std::size_t tower = 0; tower < towers(); ++tower) {
      const std::int64_t n = slices_[tower] * width_;
      if (n == 0) continue;
      const void* from = inputs[tower];
      if (form_.weighted) from = scale(queue, multiply_, from, inputs[towers() + tower], to, n);
      if (form_.divided) from = scale(queue, divide_, from, inputs[form_.inputs() - 1], to, n);
      const std::size_t bytes = static_cast<std::size_t>(n) * element_;
      if (from != to) queue.copy(to, from, bytes);
      to += bytes;
    }
    return workspace;
  }

 private:
  std::size_t towers() const { return static_cast<std::size_t>(form_.towers); }
  static const void* scale(CudaQueue& queue, cudaKernel_t kernel, const void* from,
                           const void* number, void* to, std::int64_t n) {
    device::BinaryShape shape;
    shape.kind = device::BinaryShape::right;
    launch(queue, kernel, blocks_for(queue.device(), n), from, number, to, n, shape);
    return to;
  }

  GradientForm form_;
  cudaKernel_t multiply_, divide_;
  std::int64_t width_, all_ = 0;
  std::size_t element_;
  std::vector<std::int64_t> slices_;  // of each tower
};

/// Updates the rows that are named. The workspace holds the order, then the slices.
class RowsUpdate {
 public:
  RowsUpdate(Device& device, const KernelRequest& request, const char* kernel, UpdateLayout layout,
             const GradientForm& form)
      : layout_(std::move(layout)),
        indices_(layout_.gradient + form.inputs()),
        width_(width_of(request.inputs[0].shape)),
        order_(device, request.inputs[indices_].dtype, request.inputs[indices_].shape.elements(),
               rows_of(request.inputs[0].shape)),
        values_(device, request, layout_.gradient, form, width_),
        kernel_(
            device.kernel(kernel_name(fmt::format("Rows_{}", kernel), request.inputs[0].dtype))) {
    if (values_.slices() != order_.slices()) {
      throw errors::InvalidArgumentError(
          fmt::format("{} slices, but {} indices", values_.slices(), order_.slices()));
    }
  }
  std::size_t workspace_bytes() const {
    return rounded_to_pack(order_.workspace_bytes()) + values_.workspace_bytes();
  }
  std::int64_t width() const { return width_; }
  const RowOrder& order() const { return order_; }

  RowOrder::Sorted sort(CudaQueue& queue, const LaunchArgs& args) const {
    return order_.run(queue, args.inputs[indices_], args.workspace);
  }
  const void* values(CudaQueue& queue, const LaunchArgs& args) const {
    return values_.run(queue, args.inputs + layout_.gradient,
                       args.workspace + rounded_to_pack(order_.workspace_bytes()));
  }
  void run(CudaQueue& queue, const LaunchArgs& args) const {
    if (order_.slices() * width_ == 0) return;
    const RowOrder::Sorted sorted = sort(queue, args);
    device::UpdateRows rows;
    rows.variable = const_cast<void*>(args.inputs[0]);
    for (std::size_t s = 0; s < layout_.slots; ++s) {
      rows.slots[s] = const_cast<void*>(args.inputs[1 + s]);
    }
    rows.values = values(queue, args);
    rows.keys = sorted.keys;
    rows.rows = sorted.order;
    rows.n = order_.slices();
    rows.width = width_;
    rows.variable_rows = order_.rows();
    for (std::size_t i = 0; i < layout_.scalars.size(); ++i) {
      rows.scalars[i] = args.inputs[layout_.scalars[i]];
    }
    launch(queue, kernel_, blocks_for(queue.device(), rows.n * width_), rows);
  }

 private:
  static std::int64_t rows_of(const Shape& variable) {
    return variable.rank() == 0 ? 1 : variable.size(0);
  }
  static std::int64_t width_of(const Shape& variable) {
    std::int64_t width = 1;
    for (std::size_t d = 1; d < variable.rank(); ++d) width *= variable.size(d);
    return width;
  }

  UpdateLayout layout_;
  std::size_t indices_;
  std::int64_t width_;
  RowOrder order_;
  TowerSlices values_;
  cudaKernel_t kernel_;
};

/// Updates every row, by a gradient of zeros where no slice is: it is made in the workspace.
std::unique_ptr<PreparedKernel> prepare_every_row(Device& device, const KernelRequest& request,
                                                  const UpdateRule& rule, const RowsUpdate& rows,
                                                  const UpdateLayout& layout) {
  const TensorDesc& variable = request.inputs[0];
  const DenseUpdate update(device, rule.kernel, variable.dtype, variable.shape.elements(), layout);
  const cudaKernel_t add = device.kernel(kernel_name("SegmentSum", variable.dtype));
  const std::size_t before = rows.workspace_bytes(), bytes = variable.bytes();
  return make_kernel(
      [update, rows, add, before, bytes](CudaQueue& queue, const LaunchArgs& args) {
        if (bytes == 0) return;
        void* const gradient = args.workspace + before;
        queue.fill_with_zeros(gradient, bytes);
        const RowOrder::Sorted sorted = rows.sort(queue, args);
        const std::int64_t slices = rows.order().slices(), width = rows.width(),
                           all = rows.order().rows();
        constexpr int kFromResult = 1;
        if (slices > 0) {
          launch(queue, add, blocks_for(queue.device(), slices * width), rows.values(queue, args),
                 sorted.keys, sorted.order, gradient, slices, width, all, kFromResult);
        }
        update.run(queue, args.inputs, gradient, sorted.error);
      },
      {.workspace = before + bytes, .checks_data = true});
}

}  // namespace

std::unique_ptr<PreparedKernel> prepare_rows_update(Device& device, const KernelRequest& request,
                                                    const UpdateRule& rule, UpdateLayout::Kind kind,
                                                    const GradientForm& form) {
  const char* kernel = form.use_nesterov && rule.nesterov != nullptr ? rule.nesterov : rule.kernel;
  const UpdateLayout layout(rule, kind);
  const RowsUpdate rows(device, request, kernel, layout, form);
  if (rule.every_row) return prepare_every_row(device, request, rule, rows, layout);
  return make_kernel([rows](CudaQueue& queue, const LaunchArgs& args) { rows.run(queue, args); },
                     {.workspace = rows.workspace_bytes(), .checks_data = true});
}

}  // namespace towerflow::cuda
