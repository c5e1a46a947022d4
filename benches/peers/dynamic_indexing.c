// A Vulkan layer that claims dynamic indexing of arrays of images. Dawn, on which LiteRT's GPU accelerator and ONNX Runtime's
// WebGPU provider run, refuses a device without it, as lavapipe of Mesa 22 is. None of their shaders indexes such an array,
// so devices are created without the claim.

#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;
// The next layer's functions. Looked up while the instance is created: later the loader would return its own, which call
// this layer.
static PFN_vkGetPhysicalDeviceFeatures next_features;
static PFN_vkGetPhysicalDeviceFeatures2 next_features2;
static PFN_vkCreateDevice next_create_device;

static void claim(VkPhysicalDeviceFeatures *features, VkBool32 claimed) {
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
    return next_create_device(physical, &plain, allocator, result);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name) {
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_function;
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
