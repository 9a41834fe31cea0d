#pragma once

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Ops that work with files and formats live above this folder, in data/, which sees it and is not
/// seen by it. Defined in data/register.cc; called from ops/register_all.cc.
void register_input_ops(OpRegistry& registry);
void register_input_kernels(KernelTable& table);

/// Those that save and restore, and those of summaries. Defined in train/register.cc.
void register_train_ops(OpRegistry& registry);
void register_train_kernels(KernelTable& table);

}  // namespace towerflow
