// Reads and writes files with the library for the scripts in this folder, which do the same with
// TensorFlow. IN and OUT are folders of arrays (arrays.h); COMPRESSION is none, gzip or zlib.
//
//   write_records IN FILE COMPRESSION       writes the strings of array `records` as TFRecord file
//   read_records FILE COMPRESSION OUT       the reverse; also writes the records before damage
//   write_examples IN OUT                   writes arrays `number/feature` as Examples `examples`
//   parse_examples FILE COMPRESSION SPEC OUT  parses a TFRecord file in a graph, see records.cc
//   read_tensors PREFIX OUT                 reads all tensors of a checkpoint; prints `NAME KIND`
//                                           for each that cannot be read
//   save IN PREFIX KEEP STEP...             saves the arrays as variables at each step
//   save_in_parts IN PREFIX                 saves the arrays as variables of two parts each
//   restore IN WHERE OUT                    restores variables like the arrays of IN from a
//                                           checkpoint or the newest one of a training folder
//   train IN OUT [PREFIX]                   see training.cc
//   graphs OUT                              writes graphs, feeds and results: of models to
//                                           OUT/programs, of op test cases to OUT/cases
//   write_models OUT                        writes graphs, checkpoints and losses of the models to
//                                           OUT/NAME, see models.cc
//   restore_model NAME PREFIX OUT           writes the losses of a model from a checkpoint
//   run_meta_graph FOLDER                   runs TensorFlow's FOLDER/model.meta with its checkpoint
//                                           FOLDER/model, see graphs.cc
//
// Prints an error of the library as `KIND: MESSAGE` and then exits with code 1.
#include "tests/interop/program.h"

#include <cstdio>
#include <map>

#include "core/graph/error.h"

namespace {

using towerflow::interop::Arguments;

struct Part {
  void (*run)(const Arguments& arguments);
  std::size_t least, most;  // number of arguments
};

const std::map<std::string, Part>& parts() {
  namespace interop = towerflow::interop;
  static const std::map<std::string, Part> table{
      {"write_records", {interop::write_records, 3, 3}},
      {"read_records", {interop::read_records, 3, 3}},
      {"write_examples", {interop::write_examples, 2, 2}},
      {"parse_examples", {interop::parse_examples, 4, 4}},
      {"read_tensors", {interop::read_tensors, 2, 2}},
      {"save", {interop::save, 4, 100}},
      {"save_in_parts", {interop::save_in_parts, 2, 2}},
      {"restore", {interop::restore, 3, 3}},
      {"train", {interop::train, 2, 3}},
      {"graphs", {interop::graphs, 1, 1}},
      {"write_models", {interop::write_models, 1, 1}},
      {"restore_model", {interop::restore_model, 3, 3}},
      {"run_meta_graph", {interop::run_meta_graph, 1, 1}},
  };
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments all(argv + 1, argv + argc);
  const auto part = all.empty() ? parts().end() : parts().find(all[0]);
  if (part == parts().end() || all.size() - 1 < part->second.least ||
      all.size() - 1 > part->second.most) {
    std::fputs("usage: see the head of tests/interop/program.cc\n", stderr);
    return 2;
  }
  try {
    part->second.run({all.begin() + 1, all.end()});
  } catch (const towerflow::Error& error) {
    std::fprintf(stderr, "%s: %s\n", error.kind(), error.message().c_str());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "std::exception: %s\n", error.what());
    return 1;
  }
}
