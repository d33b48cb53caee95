/* Argosy's predictor for programs in C, and in whatever calls C: libargosy_infer.so.
 *
 *   argosy_options *options;
 *   argosy_predictor *predictor;
 *   argosy_view y;
 *   argosy_options_create(ARGOSY_ABI_VERSION, &options);
 *   argosy_options_set_model(options, "model.argosy", NULL);
 *   argosy_predictor_create(options, &predictor);
 *   argosy_predictor_borrow_input(predictor, 0, ARGOSY_FLOAT32, 2, shape, data);
 *   argosy_predictor_run(predictor);
 *   argosy_predictor_view_output(predictor, 0, &y);
 *
 * Every call that can fail gives a status; argosy_last_error() is the text of the last failure of
 * the calling thread. No call ends the process or throws. A predictor is used by one thread at a
 * time: a call that finds another thread's under way gives ARGOSY_RUNTIME and changes nothing (but
 * argosy_predictor_interrupt is for that, and nobody may be in a call with what is destroyed). Its
 * clones share its weights, and each may be used by another thread, also when the first is gone.
 * What is borrowed is not copied, and must stay as it is until the call that the comment names.
 */
#ifndef ARGOSY_H
#define ARGOSY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ARGOSY_C_API __attribute__((visibility("default")))
#else
#define ARGOSY_C_API
#endif

/* Raised when a program compiled for one would not run with the other. */
#define ARGOSY_ABI_VERSION 1u
#define ARGOSY_MAX_RANK 9

typedef enum argosy_status {
  ARGOSY_OK = 0,
  ARGOSY_INVALID_ARGUMENT = 1, /* a wrong value, shape or dtype; a damaged file */
  ARGOSY_NOT_FOUND = 2,        /* no such file or name */
  ARGOSY_NOT_IMPLEMENTED = 3,  /* operations of the model are not known; the text names them */
  ARGOSY_OUT_OF_MEMORY = 4,
  ARGOSY_IO = 5,
  ARGOSY_RUNTIME = 6,      /* the call does not fit the state: an input has no value; interrupted */
  ARGOSY_INTERNAL = 7,     /* a defect of Argosy */
  ARGOSY_ABI_MISMATCH = 8, /* the program was compiled for another version of this header */
  ARGOSY_TIMEOUT = 9       /* the run takes longer than its limit */
} argosy_status;

typedef enum argosy_dtype {
  ARGOSY_BOOL = 0,
  ARGOSY_UINT8 = 1,
  ARGOSY_INT8 = 2,
  ARGOSY_UINT16 = 3,
  ARGOSY_INT16 = 4,
  ARGOSY_UINT32 = 5,
  ARGOSY_INT32 = 6,
  ARGOSY_UINT64 = 7,
  ARGOSY_INT64 = 8,
  ARGOSY_FLOAT16 = 11,
  ARGOSY_BFLOAT16 = 12,
  ARGOSY_FLOAT32 = 13,
  ARGOSY_FLOAT64 = 14,
  ARGOSY_COMPLEX64 = 15,
  ARGOSY_COMPLEX128 = 16
} argosy_dtype;

typedef struct argosy_options argosy_options;
typedef struct argosy_predictor argosy_predictor;

/* A dense array, row by row. In descriptions a size of -1 is any size, and a rank of -1 says that
 * the model leaves open how many dimensions there are. */
typedef struct argosy_view {
  argosy_dtype dtype;
  int32_t rank;
  int64_t shape[ARGOSY_MAX_RANK];
  const void* data; /* null in descriptions */
  size_t bytes;
} argosy_view;

ARGOSY_C_API uint32_t argosy_abi_version(void);
/* Of the calling thread's last call that failed; empty if none did. Valid until its next failure.
 */
ARGOSY_C_API const char* argosy_last_error(void);

/* --- options ---------------------------------------------------------------------------------- */

/* abi_version: ARGOSY_ABI_VERSION. */
ARGOSY_C_API argosy_status argosy_options_create(uint32_t abi_version, argosy_options** options);
ARGOSY_C_API void argosy_options_destroy(argosy_options* options); /* null is fine */
/* The file, folder or prefix of a model; weights: their file, or null for the one beside it. */
ARGOSY_C_API argosy_status argosy_options_set_model(argosy_options* options, const char* path,
                                                    const char* weights);
/* What the two files hold, borrowed until argosy_predictor_create. weights may be null. */
ARGOSY_C_API argosy_status argosy_options_set_model_memory(argosy_options* options,
                                                           const void* program,
                                                           size_t program_bytes,
                                                           const void* weights,
                                                           size_t weight_bytes);
/* Threads of the process that compute, for all predictors; set when one is created. */
ARGOSY_C_API argosy_status argosy_options_set_threads(argosy_options* options, int32_t threads);
/* Bytes that the values of a run may take; 0: no limit. */
ARGOSY_C_API argosy_status argosy_options_set_memory_limit(argosy_options* options, size_t bytes);
/* Seconds that a run may take, e.g. one whose loops never end; 0: no limit. It is looked at between
 * the steps of a run, and argosy_predictor_run then gives ARGOSY_TIMEOUT. */
ARGOSY_C_API argosy_status argosy_options_set_time_limit(argosy_options* options, double seconds);
/* Where the model runs: "cpu" (as without this call) or "gpu", and its number. GPUs are there in
 * libargosy.so, which has these functions, too, with libargosy_cuda.so beside it;
 * libargosy_infer.so gives ARGOSY_NOT_IMPLEMENTED when a predictor is created. Weights are then in
 * the GPU's memory, clones have streams of their own, and argosy_predictor_run has enqueued its
 * work when it returns: argosy_predictor_view_output and argosy_predictor_copy_output wait for it,
 * and give the failure of the device if there was one. Data of inputs and outputs are in the host's
 * memory as ever. */
ARGOSY_C_API argosy_status argosy_options_set_device(argosy_options* options, const char* kind,
                                                     int32_t index);
/* What products and the like compute in: ARGOSY_FLOAT32 (as the model says), ARGOSY_FLOAT16 or
 * ARGOSY_BFLOAT16, with weights of 16 bits. Inputs and outputs keep their dtypes. */
ARGOSY_C_API argosy_status argosy_options_set_precision(argosy_options* options,
                                                        argosy_dtype dtype);
/* For how many different shapes of inputs plans are kept. */
ARGOSY_C_API argosy_status argosy_options_set_kept_shapes(argosy_options* options, size_t count);
/* 0: results are those of the Program bit for bit; nothing is packed or fused. */
ARGOSY_C_API argosy_status argosy_options_set_optimize(argosy_options* options, int32_t optimize);

/* --- predictors ------------------------------------------------------------------------------- */

ARGOSY_C_API argosy_status argosy_predictor_create(const argosy_options* options,
                                                   argosy_predictor** predictor);
ARGOSY_C_API argosy_status argosy_predictor_clone(const argosy_predictor* predictor,
                                                  argosy_predictor** clone);
ARGOSY_C_API void argosy_predictor_destroy(argosy_predictor* predictor); /* null is fine */

ARGOSY_C_API size_t argosy_predictor_input_count(const argosy_predictor* predictor);
ARGOSY_C_API size_t argosy_predictor_output_count(const argosy_predictor* predictor);
/* The name is valid as long as the predictor. */
ARGOSY_C_API argosy_status argosy_predictor_describe_input(const argosy_predictor* predictor,
                                                           size_t i, const char** name,
                                                           argosy_view* view);
ARGOSY_C_API argosy_status argosy_predictor_describe_output(const argosy_predictor* predictor,
                                                            size_t i, const char** name,
                                                            argosy_view* view);
ARGOSY_C_API argosy_status argosy_predictor_find_input(const argosy_predictor* predictor,
                                                       const char* name, size_t* i);
ARGOSY_C_API argosy_status argosy_predictor_find_output(const argosy_predictor* predictor,
                                                        const char* name, size_t* i);

/* Read by each run where it is, until another is set or the predictor is destroyed. */
ARGOSY_C_API argosy_status argosy_predictor_borrow_input(argosy_predictor* predictor, size_t i,
                                                         argosy_dtype dtype, int32_t rank,
                                                         const int64_t* shape, const void* data);
ARGOSY_C_API argosy_status argosy_predictor_copy_input(argosy_predictor* predictor, size_t i,
                                                       argosy_dtype dtype, int32_t rank,
                                                       const int64_t* shape, const void* data);
/* Memory of the predictor that the input is read from, to be filled by the caller; the same until
 * another shape is asked for. */
ARGOSY_C_API argosy_status argosy_predictor_input_memory(argosy_predictor* predictor, size_t i,
                                                         int32_t rank, const int64_t* shape,
                                                         void** data);
ARGOSY_C_API argosy_status argosy_predictor_run(argosy_predictor* predictor);
/* From any thread: ends the run of the predictor that is under way, which gives ARGOSY_RUNTIME, at
 * its next step. Where none is under way nothing happens. */
ARGOSY_C_API argosy_status argosy_predictor_interrupt(argosy_predictor* predictor);
/* Of the last run; valid until the next run or the end of the predictor. */
ARGOSY_C_API argosy_status argosy_predictor_view_output(argosy_predictor* predictor, size_t i,
                                                        argosy_view* view);
/* bytes: the size of what `to` points at, which must be that of the output. */
ARGOSY_C_API argosy_status argosy_predictor_copy_output(argosy_predictor* predictor, size_t i,
                                                        void* to, size_t bytes);
/* Gives back the memory of runs. */
ARGOSY_C_API argosy_status argosy_predictor_release_memory(argosy_predictor* predictor);

#ifdef __cplusplus
}
#endif

#endif
