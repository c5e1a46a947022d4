/*
 * Classifies a photo with MobileNet v1: prints the five likeliest of 1001 classes.
 *
 *   cc -o classify classify.c $(pkg-config --cflags --libs texpool)
 *   ./classify mobilenet_v1_1.0_224.tflite photo.ppm imagenet_labels_1001.txt
 *
 * The photo must be a binary PPM, as `pngtopnm`, `djpeg` or ImageMagick's `convert photo.jpg photo.ppm` writes. To download
 * the model and the labels, run `texpool models fetch mobilenet_v1 imagenet_labels`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <texpool.h>

enum { SIDE = 224, CLASSES = 1001, SHOWN = 5 };

struct photo {
    unsigned width, height;
    unsigned char *rgb;
};

/* Prints an error and exits. */
static void fail(const char *what, const char *why)
{
    fprintf(stderr, "error: %s: %s\n", what, why);
    exit(1);
}

/* Prints an error of the library and exits. Its messages already contain the path of a model that cannot be read. */
static void fail_with(const texpool_error *error)
{
    fprintf(stderr, "error: %s\n", texpool_error_message(error));
    exit(1);
}

static struct photo read_ppm(const char *path)
{
    struct photo photo;
    unsigned most;
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, "cannot be opened");
    if (fscanf(file, "P6 %u %u %u", &photo.width, &photo.height, &most) != 3 || most != 255 || fgetc(file) == EOF)
        fail(path, "is no binary PPM of 8 bits");
    if (photo.width < 1 || photo.height < 1 || photo.width > 32768 || photo.height > 32768)
        fail(path, "has no such size");
    size_t bytes = (size_t)photo.width * photo.height * 3;
    photo.rgb = malloc(bytes);
    if (!photo.rgb || fread(photo.rgb, 1, bytes, file) != bytes)
        fail(path, "ends too early");
    fclose(file);
    return photo;
}

/* Crops the central square and scales it down to the model's input, averaging pixels, with values from -1 to 1. */
static void prepare(const struct photo *photo, float *values)
{
    unsigned side = photo->width < photo->height ? photo->width : photo->height;
    unsigned left = (photo->width - side) / 2, top = (photo->height - side) / 2;
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            unsigned y0 = top + y * side / SIDE, y1 = top + (y + 1) * side / SIDE;
            unsigned x0 = left + x * side / SIDE, x1 = left + (x + 1) * side / SIDE;
            y1 += y1 == y0;
            x1 += x1 == x0;
            for (unsigned channel = 0; channel < 3; channel++) {
                unsigned long sum = 0;
                for (unsigned v = y0; v < y1; v++)
                    for (unsigned u = x0; u < x1; u++)
                        sum += photo->rgb[((size_t)v * photo->width + u) * 3 + channel];
                *values++ = (float)sum / (float)((y1 - y0) * (x1 - x0)) / 127.5f - 1.0f;
            }
        }
}

static void print_likeliest(float *scores, const char *labels)
{
    char (*names)[64] = calloc(CLASSES, sizeof *names);
    FILE *file = fopen(labels, "r");
    if (!names || !file)
        fail(labels, "cannot be opened");
    for (int i = 0; i < CLASSES && fgets(names[i], sizeof *names, file); i++)
        names[i][strcspn(names[i], "\r\n")] = '\0';
    fclose(file);
    for (int shown = 0; shown < SHOWN; shown++) {
        int best = 0;
        for (int i = 1; i < CLASSES; i++)
            if (scores[i] > scores[best])
                best = i;
        printf("  %5.1f %%  %s\n", scores[best] * 100.0f, names[best]);
        scores[best] = -1.0f;
    }
    free(names);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: classify MODEL.tflite PHOTO.ppm LABELS.txt\n");
        return 2;
    }
    if (texpool_abi_version() != TEXPOOL_ABI_VERSION)
        fail("texpool", "the library is of another version than the header");
    struct photo photo = read_ppm(argv[2]);
    static float values[SIDE * SIDE * 3], scores[CLASSES];
    prepare(&photo, values);
    free(photo.rgb);

    /* Limits all device memory to 4 MiB. Without this option, the fastest plan is used, which takes somewhat more. */
    texpool_option options[] = {{"budget", "4MiB"}};
    texpool_session_descriptor descriptor;
    memset(&descriptor, 0, sizeof descriptor);
    descriptor.struct_size = sizeof descriptor;
    descriptor.model_path = argv[1];
    descriptor.options = options;
    descriptor.option_count = sizeof options / sizeof *options;

    texpool_error *error = NULL;
    texpool_session *session = NULL;
    if (texpool_session_create(&descriptor, &session, &error) != TEXPOOL_OK)
        fail_with(error);

    texpool_input input;
    memset(&input, 0, sizeof input);
    input.name = "input";
    input.data = values;
    input.bytes = sizeof values;
    input.element_type = TEXPOOL_F32;
    texpool_output output;
    memset(&output, 0, sizeof output);
    output.index = 0; /* Could also be identified by name, but the name is long. */
    output.data = scores;
    output.bytes = sizeof scores;
    output.element_type = TEXPOOL_F32;
    if (texpool_session_run(session, &input, 1, &output, 1, &error) != TEXPOOL_OK)
        fail_with(error);

    printf("%s:\n", argv[2]);
    print_likeliest(scores, argv[3]);

    texpool_memory memory;
    memory.struct_size = sizeof memory;
    if (texpool_session_memory(session, &memory, &error) != TEXPOOL_OK)
        fail_with(error);
    printf("%llu bytes of the device, %llu of them the pool\n", (unsigned long long)memory.planned.sum,
           (unsigned long long)memory.planned.pool);
    texpool_session_release(session);
    return 0;
}
