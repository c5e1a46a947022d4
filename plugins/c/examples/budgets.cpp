// Shows how much device memory a model takes within several budgets, and that the results stay bit-identical.
//
//   c++ -std=c++17 -o budgets budgets.cpp $(pkg-config --cflags --libs texpool)
//   ./budgets mobilenet_v1_1.0_224.tflite 4MiB 2MiB
//
// The class shows how to manage sessions in C++: smart pointers release them, and errors become exceptions.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <texpool.h>

namespace {

// Makes a call and throws its error, if any. `call` receives the pointer to pass as the error argument.
template <typename Call> void check(Call call)
{
    texpool_error *error = nullptr;
    if (call(&error) == TEXPOOL_OK)
        return;
    std::unique_ptr<texpool_error, decltype(&texpool_error_release)> owned(error, texpool_error_release);
    throw std::runtime_error(texpool_error_message(error));
}

struct Release {
    void operator()(texpool_device *device) const { texpool_device_release(device); }
    void operator()(texpool_session *session) const { texpool_session_release(session); }
};
using Device = std::unique_ptr<texpool_device, Release>;

Device open_device()
{
    texpool_device *device = nullptr;
    check([&](texpool_error **error) { return texpool_device_open(nullptr, 0, &device, error); });
    return Device(device);
}

// A session that passes all inputs and outputs as 32-bit floats.
class Session {
public:
    Session(const Device &device, const char *model, const std::vector<texpool_option> &options)
    {
        texpool_session_descriptor descriptor{};
        descriptor.struct_size = sizeof descriptor;
        descriptor.device = device.get();
        descriptor.model_path = model;
        descriptor.options = options.data();
        descriptor.option_count = options.size();
        texpool_session *session = nullptr;
        check([&](texpool_error **error) { return texpool_session_create(&descriptor, &session, error); });
        session_.reset(session);
    }

    // Runs the model with every input element set to one value, and returns all outputs.
    std::vector<std::vector<float>> run(float value) const
    {
        std::vector<std::vector<float>> values, results;
        std::vector<texpool_input> inputs;
        std::vector<texpool_output> outputs;
        for (std::size_t i = 0; i < texpool_session_input_count(session_.get()); i++)
            values.emplace_back(info(texpool_session_input, i).elements, value);
        for (std::size_t i = 0; i < texpool_session_output_count(session_.get()); i++)
            results.emplace_back(info(texpool_session_output, i).elements);
        for (std::size_t i = 0; i < values.size(); i++) {
            texpool_input input{};
            input.index = i;
            input.data = values[i].data();
            input.bytes = values[i].size() * sizeof(float);
            input.element_type = TEXPOOL_F32;
            inputs.push_back(input);
        }
        for (std::size_t i = 0; i < results.size(); i++) {
            texpool_output output{};
            output.index = i;
            output.data = results[i].data();
            output.bytes = results[i].size() * sizeof(float);
            output.element_type = TEXPOOL_F32;
            outputs.push_back(output);
        }
        check([&](texpool_error **error) {
            return texpool_session_run(session_.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), error);
        });
        return results;
    }

    texpool_memory memory() const
    {
        texpool_memory memory{};
        memory.struct_size = sizeof memory;
        check([&](texpool_error **error) { return texpool_session_memory(session_.get(), &memory, error); });
        return memory;
    }

private:
    template <typename Ask> texpool_tensor_info info(Ask ask, std::size_t index) const
    {
        texpool_tensor_info info{};
        info.struct_size = sizeof info;
        check([&](texpool_error **error) { return ask(session_.get(), index, &info, error); });
        return info;
    }

    std::unique_ptr<texpool_session, Release> session_;
};

bool same_bits(const std::vector<std::vector<float>> &a, const std::vector<std::vector<float>> &b)
{
    if (a.size() != b.size())
        return false;
    for (std::size_t i = 0; i < a.size(); i++)
        if (a[i].size() != b[i].size() || std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0)
            return false;
    return true;
}

} // namespace

int main(int argc, char **argv)
try {
    if (argc < 2) {
        std::fprintf(stderr, "usage: budgets MODEL [BUDGET]...\n");
        return 2;
    }
    Device device = open_device();
    Session without(device, argv[1], {});
    const auto answer = without.run(0.5f);
    std::printf("%12s %12s %12s\n", "budget", "device", "pool");
    const auto show = [](const char *budget, const texpool_memory &memory) {
        std::printf("%12s %12llu %12llu\n", budget, static_cast<unsigned long long>(memory.planned.sum),
                    static_cast<unsigned long long>(memory.planned.pool));
    };
    show("none", without.memory());
    for (int i = 2; i < argc; i++) {
        // With a budget, searching for a plan takes seconds.
        Session within(device, argv[1], {{"budget", argv[i]}});
        if (!same_bits(within.run(0.5f), answer))
            throw std::runtime_error("another answer");
        show(argv[i], within.memory());
    }
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
