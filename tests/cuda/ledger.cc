#include "tests/cuda/ledger.h"

#include <mutex>
#include <set>
#include <type_traits>
#include <utility>

namespace towerflow::testing {
namespace {

using cuda::Table;

/// Entries of a table are functions without state, so what they share is here.
struct Book {
  const Table* base = nullptr;
  std::mutex mutex;                                    // guards the members below
  std::size_t next_left_out = 0, every = 0;            // every 0: none
  std::set<std::pair<std::string, const void*>> kept;  // the call that takes it back, and the thing
  std::size_t calls = 0;
  Ledger::Counts given_back, left_out;
};

Book& book() {
  static Book only;
  return only;
}

void note_taken(const char* back, const void* thing) {
  const std::lock_guard lock(book().mutex);
  book().kept.insert({back, thing});
}

/// Returns whether the call that gives it back is to be made.
bool note_returned(const char* back, const void* thing) {
  const std::lock_guard lock(book().mutex);
  if (!book().kept.contains({back, thing})) return true;
  if (book().every > 0 && book().calls++ == book().next_left_out) {
    book().next_left_out += book().every;
    ++book().left_out[back];
    return false;
  }
  ++book().given_back[back];
  book().kept.erase({back, thing});
  return true;
}

/// A call that makes a thing in its first argument, and the one that gives it back.
template <auto kTake, auto kReturn, class Take = decltype(kTake), class Return = decltype(kReturn)>
struct Pair;

template <auto kTake, auto kReturn, class Status, class Thing, class... More, class Given>
struct Pair<kTake, kReturn, Status (*Table::*)(Thing*, More...), Status (*Table::*)(Given)> {
  static inline const char* back = nullptr;

  static Status take(Thing* made, More... more) {
    const Status status = (book().base->*kTake)(made, more...);
    if (static_cast<int>(status) == 0) note_taken(back, *made);
    return status;
  }
  static Status give_back(Given given) {
    const void* thing = nullptr;
    if constexpr (std::is_same_v<Given, Thing*>) {
      thing = *given;
    } else {
      thing = given;
    }
    return note_returned(back, thing) ? (book().base->*kReturn)(given) : Status{};
  }
  static void set(Table& table, const char* name) {
    back = name;
    if (table.*kTake == nullptr) return;
    table.*kTake = &take;
    table.*kReturn = &give_back;
  }
};

cudaError_t register_pages(void* pages, std::size_t bytes, unsigned flags) {
  const cudaError_t status = book().base->cudaHostRegister(pages, bytes, flags);
  if (status == cudaSuccess) note_taken("cudaHostUnregister", pages);
  return status;
}
cudaError_t unregister_pages(void* pages) {
  return note_returned("cudaHostUnregister", pages) ? book().base->cudaHostUnregister(pages)
                                                    : cudaSuccess;
}

cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  const cudaError_t status = book().base->cudaStreamEndCapture(stream, graph);
  if (status == cudaSuccess) note_taken("cudaGraphDestroy", *graph);
  return status;
}
cudaError_t destroy_graph(cudaGraph_t graph) {
  return note_returned("cudaGraphDestroy", graph) ? book().base->cudaGraphDestroy(graph)
                                                  : cudaSuccess;
}

cudnnStatus_t make_descriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
  const cudnnStatus_t status = book().base->cudnnBackendCreateDescriptor(type, made);
  if (status == CUDNN_STATUS_SUCCESS) note_taken("cudnnBackendDestroyDescriptor", *made);
  return status;
}
cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t descriptor) {
  return note_returned("cudnnBackendDestroyDescriptor", descriptor)
             ? book().base->cudnnBackendDestroyDescriptor(descriptor)
             : CUDNN_STATUS_SUCCESS;
}

ncclResult_t make_communicators(ncclComm_t* made, int count, const int* devices) {
  const ncclResult_t status = book().base->ncclCommInitAll(made, count, devices);
  if (status != ncclSuccess) return status;
  for (int i = 0; i < count; ++i) note_taken("ncclCommDestroy", made[i]);
  return status;
}
ncclResult_t destroy_communicator(ncclComm_t one) {
  return note_returned("ncclCommDestroy", one) ? book().base->ncclCommDestroy(one) : ncclSuccess;
}

void set_entries(Table& table) {
#define TOWERFLOW_PAIR(take, back) Pair<&Table::take, &Table::back>::set(table, #back);
  TOWERFLOW_PAIR(cudaMalloc, cudaFree)
  TOWERFLOW_PAIR(cudaHostAlloc, cudaFreeHost)
  TOWERFLOW_PAIR(cudaStreamCreateWithFlags, cudaStreamDestroy)
  TOWERFLOW_PAIR(cudaEventCreateWithFlags, cudaEventDestroy)
  TOWERFLOW_PAIR(cudaGraphInstantiate, cudaGraphExecDestroy)
  TOWERFLOW_PAIR(cublasLtCreate, cublasLtDestroy)
  TOWERFLOW_PAIR(cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy)
  TOWERFLOW_PAIR(cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy)
  TOWERFLOW_PAIR(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy)
  TOWERFLOW_PAIR(cudnnCreate, cudnnDestroy)
  TOWERFLOW_PAIR(cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor)
  TOWERFLOW_PAIR(cudnnCreateLRNDescriptor, cudnnDestroyLRNDescriptor)
  TOWERFLOW_PAIR(nvrtcCreateProgram, nvrtcDestroyProgram)
#undef TOWERFLOW_PAIR
  table.cudaHostRegister = &register_pages;
  table.cudaHostUnregister = &unregister_pages;
  table.cudaStreamEndCapture = &end_capture;
  table.cudaGraphDestroy = &destroy_graph;
  table.cudnnBackendCreateDescriptor = &make_descriptor;
  table.cudnnBackendDestroyDescriptor = &destroy_descriptor;
  table.ncclCommInitAll = &make_communicators;
  table.ncclCommDestroy = &destroy_communicator;
}

}  // namespace

Ledger::Ledger(std::size_t first, std::size_t every) {
  const std::lock_guard lock(book().mutex);
  book().next_left_out = first;
  book().every = every;
  book().calls = 0;
  book().kept.clear();
  book().given_back.clear();
  book().left_out.clear();
}

const cuda::Table& Ledger::on(const cuda::Table& base) {
  book().base = &base;
  update();
  return table_;
}

void Ledger::update() {
  table_ = *book().base;
  set_entries(table_);
}

Ledger::Counts Ledger::kept() {
  const std::lock_guard lock(book().mutex);
  Counts counts;
  for (const auto& [back, thing] : book().kept) ++counts[back];
  return counts;
}

Ledger::Counts Ledger::given_back() {
  const std::lock_guard lock(book().mutex);
  return book().given_back;
}

Ledger::Counts Ledger::left_out() {
  const std::lock_guard lock(book().mutex);
  return book().left_out;
}

}  // namespace towerflow::testing
