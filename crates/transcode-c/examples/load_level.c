/* Loads all mip levels of a texture as an engine in C does, from the smallest to the largest, while its file arrives.
 *
 *     cargo build --release -p kiln-transcode-c
 *     cc -std=c99 -Icrates/transcode-c/include crates/transcode-c/examples/load_level.c \
 *         target/release/libkiln_transcode_c.a -lpthread -ldl -lm -o load_level
 *     ./load_level texture.ktx2
 */
#include "kiln_transcode.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long end;
    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
        *size = (size_t)end;
        data = (uint8_t *)malloc(*size);
        if (data && fread(data, *size, 1, file) != 1) {
            free(data);
            data = NULL;
        }
    }
    if (file) fclose(file);
    return data;
}

/* A sum over the bytes, to compare results. */
static uint32_t checksum(const uint8_t *bytes, size_t size) {
    uint32_t sum = 2166136261u;
    size_t i;
    for (i = 0; i < size; i++) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

int main(int argc, char **argv) {
    size_t size = 0, received = 0;
    uint8_t *file = argc == 2 ? read_file(argv[1], &size) : NULL;
    kiln_transcode_level level;
    uint32_t number;
    int status;
    if (!file) {
        fprintf(stderr, "usage: load_level <texture.ktx2>\n");
        return 2;
    }
    /* A streamer waits for the bytes that are needed; here all of them are in memory. */
    for (;;) {
        status = kiln_transcode_level_info(file, received, 0, KILN_TRANSCODE_BC7, &level);
        if (status != KILN_TRANSCODE_NEED_MORE_BYTES || level.level_count > 0 || level.needed_size > size) break;
        received = (size_t)level.needed_size;
    }
    for (number = level.level_count; number-- > 0;) {
        uint8_t *out;
        status = kiln_transcode_level_info(file, received, number, KILN_TRANSCODE_BC7, &level);
        if (status == KILN_TRANSCODE_NEED_MORE_BYTES && level.needed_size <= size) {
            received = (size_t)level.needed_size;
        }
        out = (uint8_t *)malloc((size_t)level.output_size + 1);
        if (!out) break;
        status = kiln_transcode_load_level(file, received, number, KILN_TRANSCODE_BC7, out, (size_t)level.output_size);
        if (status == KILN_TRANSCODE_OK) {
            printf("mip level %u: %ux%u, VkFormat %u, %lu bytes, checksum %08x\n", (unsigned)number,
                   (unsigned)level.width, (unsigned)level.height, (unsigned)level.vk_format,
                   (unsigned long)level.output_size, (unsigned)checksum(out, (size_t)level.output_size));
        }
        free(out);
        if (status != KILN_TRANSCODE_OK) break;
    }
    free(file);
    if (status != KILN_TRANSCODE_OK) fprintf(stderr, "error: %s\n", kiln_transcode_message(status));
    return status;
}
