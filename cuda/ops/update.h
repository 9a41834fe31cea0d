#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/ops/row_order.h"
#include "ops/variables/gradient_form_attrs.h"

namespace towerflow::cuda {

/// An optimizer's rule (ops/update_rules.h): the name of its ops without "Apply", that of its
/// kernel, and its operands.
struct UpdateRule {
  const char* op;
  const char* kernel;
  std::size_t slots, scalars, before_gradient;
  const char* nesterov = nullptr;  ///< the kernel with the attribute use_nesterov
  bool every_row = false;  ///< an update of rows changes the others too, with a gradient of zero
};
std::span<const UpdateRule> update_rules();

/// Where an update has its inputs. All begin with the variable and its slots. An Apply op has its
/// gradient among the scalars, then the indices if it is for rows; a fused op has the gradients
/// after all scalars.
struct UpdateLayout {
  enum class Kind { apply, apply_rows, fused };
  UpdateLayout(const UpdateRule& rule, Kind kind);

  std::size_t slots, gradient;       ///< the number of slots, and the first gradient
  std::vector<std::size_t> scalars;  ///< the inputs with the scalars, in order
};

/// The sum or average of several tensors that a form describes, in their order.
class TowerAverage {
 public:
  TowerAverage(Device& device, const GradientForm& form, DType dtype, std::int64_t elements);
  /// Returns whether it is the only tensor itself.
  bool is_copy() const { return is_copy_; }
  /// Computes it from the inputs of the form.
  void run(CudaQueue& queue, const void* const* inputs, void* result) const;

 private:
  GradientForm form_;
  std::int64_t elements_, units_;
  bool is_copy_;
  cudaKernel_t kernel_;
};

/// The update of one variable, by one launch or by one for several variables.
class DenseUpdate {
 public:
  DenseUpdate(Device& device, const char* kernel, DType dtype, std::int64_t elements,
              UpdateLayout layout);
  const UpdateLayout& layout() const { return layout_; }
  /// `unless`: if it has found something, nothing is written.
  void run(CudaQueue& queue, const void* const* inputs, const void* gradient,
           const device::DataError* unless = nullptr) const;

 private:
  cudaKernel_t kernel_;
  std::size_t element_size_;
  std::int64_t elements_;
  UpdateLayout layout_;
};

/// Returns the kernel of an op that applies an average of gradients, or one gradient.
std::unique_ptr<PreparedKernel> prepare_update(Device& device, const KernelRequest& request,
                                               const UpdateRule& rule, UpdateLayout::Kind kind,
                                               const GradientForm& form);
/// Returns the kernel of an op that updates the rows that slices of one or several tensors name.
std::unique_ptr<PreparedKernel> prepare_rows_update(Device& device, const KernelRequest& request,
                                                    const UpdateRule& rule, UpdateLayout::Kind kind,
                                                    const GradientForm& form);

}  // namespace towerflow::cuda
