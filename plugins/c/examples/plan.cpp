// Uses only the planner, the way a compiler would: live ranges and sizes of buffers in, offsets in one arena out. Needs
// neither a model nor a device.
//
//   c++ -std=c++17 -o plan plan.cpp $(pkg-config --cflags --libs texpool)
//   ./plan [CAPACITY]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <texpool.h>

namespace {

struct Tensor {
    std::string name;
    std::uint64_t first, last, bytes;
};

// Buffers of a small network with a skip connection. Each step is an operator.
const std::vector<Tensor> TENSORS = {
    {"image", 0, 0, 602112},  {"stem", 0, 3, 401408}, {"wide", 1, 2, 1204224},
    {"depthwise", 2, 3, 1204224}, {"sum", 3, 4, 401408},  {"features", 4, 5, 602112},
    {"scores", 5, 5, 4004},
};

// Prints the progress of the search, and ends it at the 100th call. A compiler might instead check whether its user
// cancelled.
int told(const texpool_progress *progress, void *user_data)
{
    int &calls = *static_cast<int *>(user_data);
    if (progress->has_best)
        std::fprintf(stderr, "%s: %llu bytes so far\n", progress->stage, static_cast<unsigned long long>(progress->best));
    return ++calls >= 100;
}

} // namespace

int main(int argc, char **argv)
{
    char *rest = nullptr;
    const std::uint64_t capacity = argc > 1 ? std::strtoull(argv[1], &rest, 10) : 0;
    if (argc > 2 || (argc > 1 && (*rest != '\0' || capacity == 0))) {
        std::fprintf(stderr, "usage: plan [CAPACITY], a number of bytes\n");
        return 2;
    }

    std::vector<texpool_plan_buffer> buffers;
    for (const Tensor &tensor : TENSORS) {
        texpool_plan_buffer buffer{};
        buffer.first = tensor.first;
        buffer.last = tensor.last;
        buffer.bytes = tensor.bytes;
        buffer.alignment = 64;
        buffers.push_back(buffer);
    }
    // The caller stores the image at the start of the arena. The sum may be computed in place of the stem.
    buffers[0].placement = TEXPOOL_PLACEMENT_FIXED;
    buffers[0].offset = 0;
    const texpool_plan_pair in_place = {1, 4};

    int calls = 0;
    texpool_plan_descriptor descriptor{};
    descriptor.struct_size = sizeof descriptor;
    descriptor.buffers = buffers.data();
    descriptor.buffer_count = buffers.size();
    descriptor.in_place = &in_place;
    descriptor.in_place_count = 1;
    descriptor.capacity = capacity;
    descriptor.deadline = 5;
    descriptor.progress = told;
    descriptor.user_data = &calls;

    std::vector<std::uint64_t> offsets(buffers.size());
    texpool_plan_result result{};
    result.struct_size = sizeof result;
    texpool_error *error = nullptr;
    if (texpool_plan(&descriptor, offsets.data(), offsets.size(), &result, &error) != TEXPOOL_OK) {
        std::fprintf(stderr, "error: %s\n", texpool_error_message(error));
        texpool_error_release(error);
        return 1;
    }
    for (std::size_t i = 0; i < TENSORS.size(); i++)
        std::printf("%-10s steps %llu to %llu, %8llu bytes at %8llu\n", TENSORS[i].name.c_str(),
                    static_cast<unsigned long long>(TENSORS[i].first), static_cast<unsigned long long>(TENSORS[i].last),
                    static_cast<unsigned long long>(TENSORS[i].bytes), static_cast<unsigned long long>(offsets[i]));
    std::printf("the arena takes %llu bytes", static_cast<unsigned long long>(result.peak));
    if (result.proof != TEXPOOL_PROOF_NONE)
        std::printf(", which is proven the least\n");
    else
        std::printf("; no plan takes less than %llu\n", static_cast<unsigned long long>(result.lower_bound));
    if (descriptor.capacity > 0)
        std::printf("%s into %llu\n",
                    result.fit == TEXPOOL_FIT_YES  ? "fits"
                    : result.fit == TEXPOOL_FIT_NO ? "does not fit"
                                                   : "may fit",
                    static_cast<unsigned long long>(descriptor.capacity));
    return 0;
}
