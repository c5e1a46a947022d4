// A Vulkan layer for the comparison with other runtimes.
//
// It counts the bytes of device memory that a program holds (`vkAllocateMemory` and `vkFreeMemory`), and writes every new
// peak as a decimal number to the file named by TEXPOOL_DEVICE_MEMORY.
//
// If TEXPOOL_CLAIM_INDEXING is set, it claims dynamic indexing of arrays of images. Dawn, on which LiteRT's GPU accelerator
// and ONNX Runtime's WebGPU provider run, refuses a device without it, as lavapipe of Mesa 22 is. None of their shaders
// indexes such an array, so devices are created without the claim.

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;
// The next layer's functions. Looked up while the instance is created: later the loader would return its own, which call
// this layer.
static PFN_vkGetPhysicalDeviceFeatures next_features;
static PFN_vkGetPhysicalDeviceFeatures2 next_features2;
static PFN_vkCreateDevice next_create_device;
static PFN_vkAllocateMemory next_allocate;
static PFN_vkFreeMemory next_free;

// Memory that is held. A program has few allocations, so a list is enough.
struct held {
    struct held *next;
    VkDeviceMemory memory;
    VkDeviceSize bytes;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct held *first;
static VkDeviceSize total, peak;

static void report_peak(void) {
    const char *path = getenv("TEXPOOL_DEVICE_MEMORY");
    int file = path ? open(path, O_WRONLY | O_CREAT, 0644) : -1;
    if (file < 0) return;
    char text[32];
    int length = snprintf(text, sizeof text, "%llu\n", (unsigned long long)peak);
    // A peak never has fewer digits than the one before.
    if (pwrite(file, text, length, 0) != length) abort();
    close(file);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkDeviceMemory *memory) {
    VkResult outcome = next_allocate(device, info, allocator, memory);
    if (outcome != VK_SUCCESS) return outcome;
    struct held *one = malloc(sizeof *one);
    if (!one) abort();
    pthread_mutex_lock(&lock);
    *one = (struct held){first, *memory, info->allocationSize};
    first = one;
    total += one->bytes;
    if (total > peak) {
        peak = total;
        report_peak();
    }
    pthread_mutex_unlock(&lock);
    return outcome;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                              const VkAllocationCallbacks *allocator) {
    pthread_mutex_lock(&lock);
    for (struct held **link = &first; *link; link = &(*link)->next) {
        struct held *one = *link;
        if (one->memory != memory) continue;
        total -= one->bytes;
        *link = one->next;
        free(one);
        break;
    }
    pthread_mutex_unlock(&lock);
    next_free(device, memory, allocator);
}

static void claim(VkPhysicalDeviceFeatures *features, VkBool32 claimed) {
    if (!getenv("TEXPOOL_CLAIM_INDEXING")) return;
    features->shaderSampledImageArrayDynamicIndexing = claimed;
    features->shaderStorageImageArrayDynamicIndexing = claimed;
}

// Returns the element of a chain by which the loader passes the next layer.
static void *link_of(const void *chain, VkStructureType type) {
    for (VkBaseOutStructure *item = (VkBaseOutStructure *)chain; item; item = item->pNext)
        // Both structures of the loader have the function in the same place.
        if (item->sType == type && ((VkLayerInstanceCreateInfo *)item)->function == VK_LAYER_LINK_INFO) return item;
    return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkInstance *result) {
    VkLayerInstanceCreateInfo *link = link_of(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next_instance(NULL, "vkCreateInstance");
    VkResult outcome = create(info, allocator, result);
    if (outcome != VK_SUCCESS) return outcome;
    next_features = (PFN_vkGetPhysicalDeviceFeatures)next_instance(*result, "vkGetPhysicalDeviceFeatures");
    next_features2 = (PFN_vkGetPhysicalDeviceFeatures2)next_instance(*result, "vkGetPhysicalDeviceFeatures2");
    if (!next_features2)
        next_features2 = (PFN_vkGetPhysicalDeviceFeatures2)next_instance(*result, "vkGetPhysicalDeviceFeatures2KHR");
    next_create_device = (PFN_vkCreateDevice)next_instance(*result, "vkCreateDevice");
    return outcome;
}

static VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures *features) {
    next_features(device, features);
    claim(features, VK_TRUE);
}

static VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features) {
    next_features2(device, features);
    claim(&features->features, VK_TRUE);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *result) {
    VkLayerDeviceCreateInfo *link = link_of(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    VkDeviceCreateInfo plain = *info;
    VkPhysicalDeviceFeatures features;
    if (info->pEnabledFeatures) {
        features = *info->pEnabledFeatures;
        claim(&features, VK_FALSE);
        plain.pEnabledFeatures = &features;
    }
    for (VkBaseOutStructure *item = (VkBaseOutStructure *)info->pNext; item; item = item->pNext)
        if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            claim(&((VkPhysicalDeviceFeatures2 *)item)->features, VK_FALSE);
    VkResult outcome = next_create_device(physical, &plain, allocator, result);
    if (outcome != VK_SUCCESS) return outcome;
    next_allocate = (PFN_vkAllocateMemory)next_device(*result, "vkAllocateMemory");
    next_free = (PFN_vkFreeMemory)next_device(*result, "vkFreeMemory");
    return outcome;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name) {
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_function;
    if (!strcmp(name, "vkAllocateMemory")) return (PFN_vkVoidFunction)allocate_memory;
    if (!strcmp(name, "vkFreeMemory")) return (PFN_vkVoidFunction)free_memory;
    return next_device(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance of, const char *name) {
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } OWN[] = {
        {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)instance_function},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_function},
        {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
        {"vkGetPhysicalDeviceFeatures", (PFN_vkVoidFunction)get_features},
        {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)get_features2},
        {"vkGetPhysicalDeviceFeatures2KHR", (PFN_vkVoidFunction)get_features2},
    };
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (!strcmp(name, OWN[i].name)) return OWN[i].function;
    return next_instance ? next_instance(of, name) : NULL;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *layer) {
    layer->loaderLayerInterfaceVersion = 2;
    layer->pfnGetInstanceProcAddr = instance_function;
    layer->pfnGetDeviceProcAddr = device_function;
    layer->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
