#include "ops/register_above.h"

#include "train/checkpoint/save_restore.h"
#include "train/input/families.h"
#include "train/summary/histogram.h"
#include "train/summary/merge.h"
#include "train/summary/scalar.h"

namespace towerflow {

void register_train_ops(OpRegistry& registry) {
  register_checkpoint_ops(registry);
  register_input_position_ops(registry);
  register_scalar_summary_ops(registry);
  register_histogram_summary_ops(registry);
  register_merge_summary_ops(registry);
}

void register_train_kernels(KernelTable& table) {
  register_checkpoint_kernels(table);
  register_input_position_kernels(table);
  register_scalar_summary_kernels(table);
  register_histogram_summary_kernels(table);
  register_merge_summary_kernels(table);
}

}  // namespace towerflow
