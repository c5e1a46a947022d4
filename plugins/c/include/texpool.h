// texpool.h: runs .tflite and .onnx models on the GPU out of a fixed pool of textures, and plans memory.
//
// Written by cbindgen from plugins/c/src; the README beside them shows how to begin, and lists the options.
//
// Calls. What can fail answers with a texpool_status, and where its last argument is not NULL, sets that to NULL if all is
// well, else to an error that the caller releases. Other results, too, are NULL where a call fails. "Errors:" lists the
// numbers beside ARGUMENT and INTERNAL, which every call may answer, without the prefix TEXPOOL_ERROR_.
//
// Pointers must not be NULL unless it is said that they may be, and are to as much memory as is said, aligned as its type
// asks. What can be checked is, and answered with TEXPOOL_ERROR_ARGUMENT. A pointer to no element may be anything. Texts
// are UTF-8 with a zero at their end; paths are as the system has them. The library keeps no pointer that it is given when
// a call returns, and changes nothing behind a pointer to const.
//
// Threads. Any function may be called from any thread at any time, with whatever other calls under way, as long as no
// object is used after it was released for the last time. There is no global state.
//
// Structs that begin with struct_size grow with later versions: set it to their sizeof, and all fields that are not used to
// zero. All other structs stay as they are.


#ifndef TEXPOOL_H
#define TEXPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this interface. Programs that were compiled with one version work with every library of that version,
// older and newer: see "What stays the same" in the README.
#define TEXPOOL_ABI_VERSION 1

// How a call ended. Later versions may add numbers: treat those that you do not know as errors.
enum texpool_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // All is well.
    TEXPOOL_OK = 0,
    // A pointer is NULL that must not be, is not aligned, or memory overlaps that must not; a size or a number that is
    // none. The program is wrong.
    TEXPOOL_ERROR_ARGUMENT = 1,
    // There is no option of that name, its text means nothing, or it does not go with another.
    TEXPOOL_ERROR_OPTION = 2,
    // The model's file cannot be read.
    TEXPOOL_ERROR_FILE = 3,
    // The file or the bytes are no model, are damaged, or hold what is not supported; the text lists all of that.
    TEXPOOL_ERROR_MODEL = 4,
    // The bytes are no saved plan, or one of another model or for a device with larger textures. Create the session
    // without them, and save its plan.
    TEXPOOL_ERROR_SAVED_PLAN = 5,
    // No plan keeps within the budget; the text says the least that was found.
    TEXPOOL_ERROR_BUDGET = 6,
    // The model cannot be planned for another reason.
    TEXPOOL_ERROR_PLAN = 7,
    // The model has no input or output of that name or index, or several of that name.
    TEXPOOL_ERROR_NO_SUCH_TENSOR = 8,
    // An input or output is of another element type.
    TEXPOOL_ERROR_ELEMENT_TYPE = 9,
    // An input or output is of other extents, or of another number of elements or bytes.
    TEXPOOL_ERROR_SHAPE = 10,
    // A value is one that the device's texels, or the output's elements, cannot hold.
    TEXPOOL_ERROR_VALUE = 11,
    // An input has no values, or an input or output is given twice.
    TEXPOOL_ERROR_INPUTS = 12,
    // There is no graphics adapter, or none of that name, or it gives no device.
    TEXPOOL_ERROR_NO_ADAPTER = 13,
    // The device refuses something, or a limit of it is too low.
    TEXPOOL_ERROR_DEVICE = 14,
    // The device is lost. What was made on it is, too: release it, and open another one.
    TEXPOOL_ERROR_DEVICE_LOST = 15,
    // The device has not answered in time. It may still be at it; the next call waits for that first.
    TEXPOOL_ERROR_TIMEOUT = 16,
    // The device has too little memory.
    TEXPOOL_ERROR_OUT_OF_MEMORY = 17,
    // Buffers that are to be placed contradict themselves or each other, or are too many.
    TEXPOOL_ERROR_BUFFERS = 18,
    // The session or device was created before this process was forked, and works in the parent alone. Open a device and
    // create sessions in the process that runs them.
    TEXPOOL_ERROR_FORKED = 19,
    // A defect of the library. A session in which this happened answers every later run with it: release it.
    TEXPOOL_ERROR_INTERNAL = 100,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum texpool_status texpool_status;
#else
typedef int32_t texpool_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a search ended.
enum texpool_stop
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It was done.
    TEXPOOL_STOP_NONE = 0,
    // The deadline passed: a smaller plan may exist.
    TEXPOOL_STOP_DEADLINE = 1,
    // The callback ended it: a smaller plan may exist.
    TEXPOOL_STOP_CANCELLED = 2,
    // More buffers depend on each other than the search takes: only greedy plans were tried.
    TEXPOOL_STOP_TOO_MANY = 3,
    // Another reason, of a later version: a smaller plan may exist.
    TEXPOOL_STOP_OTHER = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum texpool_stop texpool_stop;
#else
typedef uint32_t texpool_stop;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The type of a tensor's elements.
enum texpool_element_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // 32-bit float.
    TEXPOOL_F32 = 1,
    // 16-bit float of IEEE 754.
    TEXPOOL_F16 = 2,
    // int8_t.
    TEXPOOL_I8 = 3,
    // uint8_t.
    TEXPOOL_U8 = 4,
    // int16_t.
    TEXPOOL_I16 = 5,
    // uint16_t.
    TEXPOOL_U16 = 6,
    // int32_t.
    TEXPOOL_I32 = 7,
    // uint32_t.
    TEXPOOL_U32 = 8,
    // int64_t.
    TEXPOOL_I64 = 9,
    // uint64_t.
    TEXPOOL_U64 = 10,
    // A byte that is 0 or 1, as bool is.
    TEXPOOL_BOOL = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum texpool_element_type texpool_element_type;
#else
typedef uint32_t texpool_element_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an offset in a texpool_plan_buffer is.
enum texpool_placement
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Nothing: the buffer may lie anywhere.
    TEXPOOL_PLACEMENT_ANYWHERE = 0,
    // Where it has to lie.
    TEXPOOL_PLACEMENT_FIXED = 1,
    // Where it lay in an earlier plan, from which little should change; it may lie elsewhere.
    TEXPOOL_PLACEMENT_HINT = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum texpool_placement texpool_placement;
#else
typedef uint32_t texpool_placement;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How it is known that no plan is smaller.
enum texpool_proof
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It is not known: a smaller plan may exist.
    TEXPOOL_PROOF_NONE = 0,
    // So much is needed at one step, or up to the end of a buffer whose place is given.
    TEXPOOL_PROOF_WIDEST_STEP = 1,
    // A search has ruled out everything smaller.
    TEXPOOL_PROOF_SEARCH = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum texpool_proof texpool_proof;
#else
typedef uint32_t texpool_proof;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whether buffers fit into a capacity.
enum texpool_fit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It is not known.
    TEXPOOL_FIT_UNDECIDED = 0,
    // They do, as they are placed.
    TEXPOOL_FIT_YES = 1,
    // They do not, in whatever way they are placed.
    TEXPOOL_FIT_NO = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum texpool_fit texpool_fit;
#else
typedef uint32_t texpool_fit;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An open device. Sessions that are created with one share it and its compiled shaders; one that is created without
// opens a device of its own. Any thread may use it at any time.
typedef struct texpool_device texpool_device;

// What went wrong in a call. Belongs to the caller, who releases it.
typedef struct texpool_error texpool_error;

// A model on a device, planned and ready to run. Any thread may use it at any time: calls that run it, look at its
// memory or give that back wait for each other, all others do not.
//
// It is counted who uses it: texpool_session_create and texpool_session_another answer with one use, texpool_session_retain
// adds one, texpool_session_release takes one back. A call that is under way has a use of its own, so a session may be
// released while another thread is in a call with it: the call ends as ever, and gives the session's memory back. No call
// may begin after the last release.
typedef struct texpool_session texpool_session;

// An option: a name and a text, both in UTF-8. The README lists them. This struct does not change.
typedef struct texpool_option {
    // Such as "budget".
    const char *name;
    // Such as "2MiB".
    const char *value;
} texpool_option;

// How far a search is. Later versions may add fields at the end.
typedef struct texpool_progress {
    // What is being done, such as "exact search". Gone when the callback returns.
    const char *stage;
    // Units of work done in this stage.
    uint64_t done;
    // Units of work that the stage takes at most; 0 if that is unknown.
    uint64_t total;
    // Whether there is a plan yet.
    bool has_best;
    // What the best plan so far takes, in bytes or texels.
    uint64_t best;
} texpool_progress;

// Told every few milliseconds how far a search is; answers 0 to go on, anything else to end it with the best plan so far.
// It may be called from other threads than the one that asked, one call at a time; it must not throw an exception, nor
// leave by longjmp.
typedef int (*texpool_progress_fn)(const struct texpool_progress *progress, void *user_data);

// What a session is created from. Set all bytes to zero, then struct_size and what is wanted: a model by its file or by
// its bytes, and nothing else is needed.
typedef struct texpool_session_descriptor {
    // sizeof(texpool_session_descriptor).
    size_t struct_size;
    // A device that the session shares, or NULL: it opens one of its own, as the options "adapter" and "timeout" say.
    const struct texpool_device *device;
    // A .tflite or .onnx file; or NULL. One of more than 1 GiB must not change while the session is there.
    const char *model_path;
    // The bytes of such a file, which are copied; or NULL. Either these or a file must be given.
    const void *model_data;
    // How many bytes there are.
    size_t model_bytes;
    // What texpool_session_save_plan wrote for this model, or NULL: a plan is searched for, as the options say.
    const void *plan_data;
    // How many bytes there are.
    size_t plan_bytes;
    // Options.
    const struct texpool_option *options;
    // How many options there are.
    size_t option_count;
    // Told how far the search for a plan is; or NULL.
    texpool_progress_fn progress;
    // Handed to it.
    void *user_data;
} texpool_session_descriptor;

// What is known of an input or output.
typedef struct texpool_tensor_info {
    // sizeof(texpool_tensor_info), set by the caller.
    size_t struct_size;
    // Its name in the file, in UTF-8. It is the session's, and goes with it.
    const char *name;
    // Its extents, as many as its rank. They are the session's, and go with it.
    const size_t *dims;
    // Number of extents.
    size_t rank;
    // Number of elements.
    size_t elements;
    // Bytes of the elements.
    size_t bytes;
    // The type of the elements: a texpool_element_type.
    uint32_t element_type;
    // Whether its integers stand for (integer - zero_point) * scale.
    bool quantized;
    // See quantized.
    float scale;
    // See quantized.
    int32_t zero_point;
} texpool_tensor_info;

// Values of an input, in memory of the caller's, which is read where it lies and may not be changed meanwhile. Set all
// bytes to zero, then what is wanted. This struct does not change.
typedef struct texpool_input {
    // The input's name; or NULL: it is meant by its index.
    const char *name;
    // The input's index, where it has no name here.
    size_t index;
    // The first element, aligned as its type asks.
    const void *data;
    // Bytes that may be read from there on.
    size_t bytes;
    // The type of the elements: that of the input, or TEXPOOL_F32, real numbers whatever the input's type is.
    uint32_t element_type;
    // Number of extents and of strides, 8 at most.
    size_t rank;
    // The extents, which are checked against the model's; or NULL: they are the model's.
    const size_t *dims;
    // Elements from each to its neighbour along each axis; or NULL: the elements lie one behind the other, the last axis
    // fastest. Needs dims.
    const size_t *strides;
} texpool_input;

// Memory of the caller's for an output, into which its elements are written one behind the other, the last axis fastest.
// Set all bytes to zero, then what is wanted. This struct does not change.
typedef struct texpool_output {
    // The output's name; or NULL: it is meant by its index.
    const char *name;
    // The output's index, where it has no name here.
    size_t index;
    // Where the first element goes, aligned as its type asks. May not overlap with that of another output, or an input.
    void *data;
    // Bytes there, exactly those of the elements.
    size_t bytes;
    // The type of the elements: that of the output, or TEXPOOL_F32, which gets the real numbers that were computed,
    // before they become elements of another type.
    uint32_t element_type;
} texpool_output;

// Bytes of the device's memory by what they are for. This struct does not change.
typedef struct texpool_memory_parts {
    // All parts together.
    uint64_t sum;
    // Textures that hold intermediate tensors.
    uint64_t pool;
    // Textures of weights.
    uint64_t weights;
    // Textures of inputs and outputs that lie beside the pool.
    uint64_t io;
    // Buffers of parameters and tables.
    uint64_t tables;
    // Buffers that values go through between host and device.
    uint64_t transfer;
    // All else.
    uint64_t other;
} texpool_memory_parts;

// What a session takes of the device's memory, in bytes.
typedef struct texpool_memory {
    // sizeof(texpool_memory), set by the caller.
    size_t struct_size;
    // What was asked of the device, now. The option "budget" is a promise about its sum.
    struct texpool_memory_parts planned;
    // The same as the driver allocated it, what it leaves out for alignment included; zeros where the driver does not say.
    struct texpool_memory_parts allocated;
    // Of the planned pool and weights, what other sessions use as well.
    uint64_t shared;
    // Blocks that were taken from the driver for the whole device, in which all its sessions lie; 0 where the driver does
    // not say.
    uint64_t reserved;
    // The greatest sum of allocated since the session was created; 0 where the driver does not say.
    uint64_t peak_allocated;
    // The greatest reserved since then.
    uint64_t peak_reserved;
} texpool_memory;

// Counts of values that the last run of a session could not represent. All zero: the answers are as computed.
typedef struct texpool_warnings {
    // sizeof(texpool_warnings), set by the caller.
    size_t struct_size;
    // NaN and infinite values in the outputs that were read.
    uint64_t not_finite;
    // Finite values beyond 65504, the greatest 16-bit float, that were stored as 65504 or -65504 (option "precision").
    uint64_t saturated;
    // Indices outside their axis that were replaced by the nearest index inside.
    uint64_t index_outside;
} texpool_warnings;

// A range of bytes that is needed for a range of steps. Sizes may be in any other unit, too. This struct does not change.
typedef struct texpool_plan_buffer {
    // The first step that uses it.
    uint64_t first;
    // The last step that uses it; it is needed at that one, too.
    uint64_t last;
    // Its size.
    uint64_t bytes;
    // Its offset is a multiple of this; 0 is as 1.
    uint64_t alignment;
    // What placement says.
    uint64_t offset;
    // What offset is: a texpool_placement.
    uint32_t placement;
} texpool_plan_buffer;

// Steps within a buffer's life at which it takes less than all of its bytes. This struct does not change.
typedef struct texpool_plan_gap {
    // Index of the buffer.
    size_t buffer;
    // The first of the steps.
    uint64_t first;
    // The last of them.
    uint64_t last;
    // The first of the bytes that it takes meanwhile, counted from its start.
    uint64_t window_begin;
    // One past the last of these bytes; equal to window_begin where it takes none, and what was in them is lost.
    uint64_t window_end;
} texpool_plan_gap;

// Two buffers of which one may be computed in the place of the other: at the step that is the last of one and the first of
// the other they may overlap if both begin at the same offset. They need not. This struct does not change.
typedef struct texpool_plan_pair {
    // Index of the buffer that is there before.
    size_t before;
    // Index of the buffer that is computed.
    size_t after;
} texpool_plan_pair;

// What is to be placed, and how long to search. Set all bytes to zero, then struct_size and what is wanted.
typedef struct texpool_plan_descriptor {
    // sizeof(texpool_plan_descriptor).
    size_t struct_size;
    // The buffers.
    const struct texpool_plan_buffer *buffers;
    // How many there are.
    size_t buffer_count;
    // Gaps in their lives, in any order.
    const struct texpool_plan_gap *gaps;
    // How many there are.
    size_t gap_count;
    // Pairs that may be computed in place.
    const struct texpool_plan_pair *in_place;
    // How many there are.
    size_t in_place_count;
    // A size that is enough: the search ends at the first plan within it, or once it is known that there is none. 0 for the
    // smallest that is found.
    uint64_t capacity;
    // Seconds after which the search ends with the best plan so far; 0 for none. Without one, and without a callback that
    // ends it, the same buffers get the same plan on every machine.
    double deadline;
    // How much is searched, in placements of a buffer; 0 for 1,048,576, which is a second or less.
    uint64_t effort;
    // Told how far the search is; or NULL.
    texpool_progress_fn progress;
    // Handed to it.
    void *user_data;
} texpool_plan_descriptor;

// What is known of a plan.
typedef struct texpool_plan_result {
    // sizeof(texpool_plan_result), set by the caller.
    size_t struct_size;
    // The size of the arena: one past the last byte in use.
    uint64_t peak;
    // No plan is smaller than this.
    uint64_t lower_bound;
    // Whether no plan is smaller, and how that is known: a texpool_proof. The plan is proven the smallest where this is not
    // TEXPOOL_PROOF_NONE.
    uint32_t proof;
    // Whether the buffers fit into the capacity: a texpool_fit. TEXPOOL_FIT_UNDECIDED where no capacity was given.
    uint32_t fit;
    // What ended the search before its end: a texpool_stop.
    uint32_t stopped;
} texpool_plan_result;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the interface that the library has, to be compared with TEXPOOL_ABI_VERSION, with which the program was
// compiled.
uint32_t texpool_abi_version(void);

// The version of the library, such as "0.1.0". Never NULL; it is the library's and stays.
const char *texpool_version(void);

// The number of an error; TEXPOOL_OK of NULL.
texpool_status texpool_error_status(const struct texpool_error *error);

// The text of an error, in UTF-8, without a line end; "" of NULL. It is the error's, and goes with it.
const char *texpool_error_message(const struct texpool_error *error);

// Releases an error. NULL is nothing.
void texpool_error_release(struct texpool_error *error);

// The name of a status, such as "TEXPOOL_ERROR_BUDGET"; "unknown" of a number that is none. Never NULL; it is the
// library's and stays.
const char *texpool_status_name(int32_t status);

// Opens a device: the adapter that is named, else the one that the system prefers, a software one where there is no
// other. Options: "adapter" and "timeout". Release it with texpool_device_release.
//
// Errors: OPTION, NO_ADAPTER.
texpool_status texpool_device_open(const struct texpool_option *options,
                                   size_t option_count,
                                   struct texpool_device **device,
                                   struct texpool_error **error);

// Asks whether the device is still there.
//
// Errors: DEVICE_LOST, with what is known of the reason.
texpool_status texpool_device_check(const struct texpool_device *device, struct texpool_error **error);

// Releases a device. Sessions that use it keep it until they are released. NULL is nothing.
void texpool_device_release(struct texpool_device *device);

// Creates a session: reads the model, opens the device where none is given, searches for a plan or takes the one that is
// given, and puts pool and weights on the device. That may take seconds. Release it with texpool_session_release.
//
// Errors: OPTION, FILE, MODEL, SAVED_PLAN, BUDGET, PLAN, NO_ADAPTER, DEVICE, DEVICE_LOST, TIMEOUT, OUT_OF_MEMORY.
texpool_status texpool_session_create(const struct texpool_session_descriptor *descriptor,
                                      struct texpool_session **session,
                                      struct texpool_error **error);

// Creates another session of the same model, plan and device. Both share the weights on the device and the compiled
// shaders, and nothing else: they may run side by side.
//
// Errors: DEVICE, DEVICE_LOST, TIMEOUT, OUT_OF_MEMORY.
texpool_status texpool_session_another(const struct texpool_session *session,
                                       struct texpool_session **another,
                                       struct texpool_error **error);

// Adds a use of a session, for another thread or another owner. NULL is nothing.
void texpool_session_retain(const struct texpool_session *session);

// Takes a use of a session back; the last one releases it and all that it has on the device. NULL is nothing.
void texpool_session_release(struct texpool_session *session);

// Writes the session's plan, some kilobytes, which texpool_session_create takes as plan_data in place of a search. *bytes
// becomes how many bytes it has; where capacity is less, nothing is written: call it with capacity 0 first.
//
// Errors: ARGUMENT where capacity is neither 0 nor enough.
texpool_status texpool_session_save_plan(const struct texpool_session *session,
                                         void *buffer,
                                         size_t capacity,
                                         size_t *bytes,
                                         struct texpool_error **error);

// Why the search for the session's plan ended, a texpool_stop: where it is not TEXPOOL_STOP_NONE, a smaller plan may
// exist. TEXPOOL_STOP_NONE of NULL.
texpool_stop texpool_session_stopped(const struct texpool_session *session);

// Number of inputs; 0 of NULL.
size_t texpool_session_input_count(const struct texpool_session *session);

// Number of outputs; 0 of NULL.
size_t texpool_session_output_count(const struct texpool_session *session);

// Fills in what is known of an input. Its struct_size must be set.
//
// Errors: NO_SUCH_TENSOR.
texpool_status texpool_session_input(const struct texpool_session *session,
                                     size_t index,
                                     struct texpool_tensor_info *info,
                                     struct texpool_error **error);

// Fills in what is known of an output. Its struct_size must be set.
//
// Errors: NO_SUCH_TENSOR.
texpool_status texpool_session_output(const struct texpool_session *session,
                                      size_t index,
                                      struct texpool_tensor_info *info,
                                      struct texpool_error **error);

// Finds the index of the input that has the name.
//
// Errors: NO_SUCH_TENSOR.
texpool_status texpool_session_find_input(const struct texpool_session *session,
                                          const char *name,
                                          size_t *index,
                                          struct texpool_error **error);

// Finds the index of the output that has the name.
//
// Errors: NO_SUCH_TENSOR.
texpool_status texpool_session_find_output(const struct texpool_session *session,
                                           const char *name,
                                           size_t *index,
                                           struct texpool_error **error);

// Runs the model on values, waits, and writes outputs where the caller wants them; outputs that are not named are not
// read back. An input that is left out has the values of the last run that had some.
//
// Where it fails, outputs hold anything; the session stays usable, but for DEVICE_LOST and INTERNAL.
//
// Errors: ARGUMENT, NO_SUCH_TENSOR, ELEMENT_TYPE, SHAPE, VALUE, INPUTS, DEVICE, DEVICE_LOST, TIMEOUT, OUT_OF_MEMORY.
texpool_status texpool_session_run(const struct texpool_session *session,
                                   const struct texpool_input *inputs,
                                   size_t input_count,
                                   const struct texpool_output *outputs,
                                   size_t output_count,
                                   struct texpool_error **error);

// Fills in what a session takes of the device's memory. Its struct_size must be set. Waits for a run that is under way.
texpool_status texpool_session_memory(const struct texpool_session *session,
                                      struct texpool_memory *memory,
                                      struct texpool_error **error);

// Gives the device's memory back until the next run, which takes it again. What lay in inputs is lost. Waits for a run
// that is under way.
texpool_status texpool_session_trim(const struct texpool_session *session, struct texpool_error **error);

// Fills in the counts of the session's last run; zeros before the first run. The struct's struct_size must be set. Waits
// for a run that is under way.
//
// Errors: DEVICE, DEVICE_LOST, TIMEOUT.
texpool_status texpool_session_warnings(const struct texpool_session *session,
                                        struct texpool_warnings *warnings,
                                        struct texpool_error **error);

// Writes the same as English text that names the tensors, for a log: UTF-8 that ends in a zero byte, or just that byte if
// there is nothing to report. *bytes becomes the length with the zero byte; if capacity is less, nothing is written: call
// it with capacity 0 first.
//
// Errors: ARGUMENT if capacity is neither 0 nor enough; DEVICE, DEVICE_LOST, TIMEOUT.
texpool_status texpool_session_warnings_text(const struct texpool_session *session,
                                             char *text,
                                             size_t capacity,
                                             size_t *bytes,
                                             struct texpool_error **error);

// Places buffers in one arena, as small as it can. offsets gets the offset of each buffer, in their order, and there must
// be room for offset_count of them, which is buffer_count. The plan was checked by code that shares nothing with the
// search. Any thread may call it at any time; it takes one thread.
//
// Errors: BUFFERS where they contradict themselves or each other.
texpool_status texpool_plan(const struct texpool_plan_descriptor *descriptor,
                            uint64_t *offsets,
                            size_t offset_count,
                            struct texpool_plan_result *result,
                            struct texpool_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TEXPOOL_H */
