#include "data/families.h"
#include "ops/register_above.h"

namespace towerflow {

void register_input_ops(OpRegistry& registry) {
  register_file_reader_ops(registry);
  register_record_reader_ops(registry);
  register_parse_example_ops(registry);
}

void register_input_kernels(KernelTable& table) {
  register_file_reader_kernels(table);
  register_record_reader_kernels(table);
  register_parse_example_kernels(table);
}

}  // namespace towerflow
