#pragma once

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

void register_file_reader_ops(OpRegistry& registry);
void register_file_reader_kernels(KernelTable& table);
void register_record_reader_ops(OpRegistry& registry);
void register_record_reader_kernels(KernelTable& table);
void register_parse_example_ops(OpRegistry& registry);
void register_parse_example_kernels(KernelTable& table);

}  // namespace towerflow
