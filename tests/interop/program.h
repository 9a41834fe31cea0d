#pragma once

#include <string>
#include <vector>

namespace towerflow::interop {

using Arguments = std::vector<std::string>;

// The commands of program.cc, documented there.
void write_records(const Arguments& arguments);
void read_records(const Arguments& arguments);
void write_examples(const Arguments& arguments);
void parse_examples(const Arguments& arguments);
void read_tensors(const Arguments& arguments);
void save(const Arguments& arguments);
void save_in_parts(const Arguments& arguments);
void restore(const Arguments& arguments);
void train(const Arguments& arguments);
void graphs(const Arguments& arguments);
void write_models(const Arguments& arguments);
void restore_model(const Arguments& arguments);
void run_meta_graph(const Arguments& arguments);

}  // namespace towerflow::interop
