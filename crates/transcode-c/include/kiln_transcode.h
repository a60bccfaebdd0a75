/* Transcodes UASTC textures to what a GPU reads, and loads mip levels of KTX2 files. C99 and C++.
 *
 * Link the static library (`libkiln_transcode_c.a`) or the dynamic one of the crate `kiln-transcode-c`. No function keeps
 * a pointer, allocates memory that the caller frees, or has global state: all may be called from any thread.
 */
#ifndef KILN_TRANSCODE_H
#define KILN_TRANSCODE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The formats to transcode to. */
typedef enum kiln_transcode_target {
    KILN_TRANSCODE_RGBA8 = 0,      /* uncompressed, rows without padding */
    KILN_TRANSCODE_ASTC_4X4 = 1,   /* mobile GPUs, without loss */
    KILN_TRANSCODE_BC7 = 2,        /* desktop GPUs */
    KILN_TRANSCODE_BC1 = 3,        /* opaque colours, half the size */
    KILN_TRANSCODE_BC3 = 4,        /* BC1 colours and BC4 alpha */
    KILN_TRANSCODE_BC4 = 5,        /* red */
    KILN_TRANSCODE_BC5_RG = 6,     /* red and green: normal maps that `assetc` builds */
    KILN_TRANSCODE_BC5_RA = 7,     /* red and alpha: normal maps of other encoders */
    KILN_TRANSCODE_ETC1 = 8,       /* opaque colours, half the size */
    KILN_TRANSCODE_ETC2_RGBA = 9,  /* mobile GPUs without ASTC */
    KILN_TRANSCODE_EAC_R11 = 10,   /* red */
    KILN_TRANSCODE_EAC_RG11 = 11,  /* red and green */
    KILN_TRANSCODE_EAC_RA11 = 12   /* red and alpha */
} kiln_transcode_target;

/* Status codes of the functions below. */
typedef enum kiln_transcode_status {
    KILN_TRANSCODE_OK = 0,
    KILN_TRANSCODE_NEED_MORE_BYTES = 1,
    KILN_TRANSCODE_INVALID_FILE = 2,
    KILN_TRANSCODE_NO_SUCH_LEVEL = 3,
    KILN_TRANSCODE_UNSUPPORTED_FORMAT = 4,
    KILN_TRANSCODE_INVALID_ZSTD = 5,
    KILN_TRANSCODE_INVALID_BLOCK = 6,
    KILN_TRANSCODE_WRONG_LENGTH = 7,
    KILN_TRANSCODE_OUT_OF_MEMORY = 8,
    KILN_TRANSCODE_INVALID_ARGUMENT = 9
} kiln_transcode_status;

/* A mip level. */
typedef struct kiln_transcode_level {
    uint32_t width;                 /* in texels */
    uint32_t height;                /* in texels */
    uint32_t images;                /* layers times faces, one after the other */
    uint32_t vk_format;             /* the VkFormat of the output */
    uint32_t level_count;           /* mip levels of the texture */
    uint32_t first_available_level; /* the largest mip level that the bytes hold; level_count if none */
    uint64_t output_size;           /* bytes of the transcoded mip level */
    uint64_t needed_size;           /* bytes of the file, from its start, that hold this mip level */
} kiln_transcode_level;

/* Returns the bytes of an image in a format, 0 if there is no such format. */
size_t kiln_transcode_image_size(uint32_t target, uint32_t width, uint32_t height);

/* Transcodes the UASTC blocks of one image. `out_size` is what `kiln_transcode_image_size` returns. */
int kiln_transcode_image(const uint8_t *blocks, size_t blocks_size, uint32_t width, uint32_t height, uint32_t target,
                         uint8_t *out, size_t out_size);

/* Describes a mip level; 0 is the largest. `file` may be a prefix of the file: if it is too short, the status is
 * KILN_TRANSCODE_NEED_MORE_BYTES and `info->needed_size` says how long it has to be. */
int kiln_transcode_level_info(const uint8_t *file, size_t size, uint32_t level, uint32_t target,
                              kiln_transcode_level *info);

/* Loads a mip level from a file or a prefix of it: decompresses and transcodes it. `out_size` is `output_size` of the
 * mip level. */
int kiln_transcode_load_level(const uint8_t *file, size_t size, uint32_t level, uint32_t target, uint8_t *out,
                              size_t out_size);

/* Decompresses one Zstandard frame whose content has exactly `out_size` bytes, such as a file of a compressed pack:
 * `kiln_pack_read` of kiln.h takes a function that calls this one. */
int kiln_transcode_decompress(const uint8_t *frame, size_t size, uint8_t *out, size_t out_size);

/* Returns an English message for a status code. */
const char *kiln_transcode_message(int status);

#ifdef __cplusplus
}
#endif

#endif
